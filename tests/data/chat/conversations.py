"""Conversations that chat templates are rendered with."""


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


SYSTEM = {"role": "system", "content": "You are a terse helper."}
TURNS = [user("Hello, how are you?"), assistant("Fine. And you?"), user("Tell me a joke.")]
ODD = [user("  Spaces around \n\n and lines\n"), assistant("\nGrüße, 世界! 😀 <|im_end|> {{ x }} \"q\" 'a' \\n "), user("")]
THOUGHT = [user("2+2?"), assistant("<think>\nFour, surely.\n</think>\n\n4"), user("And 3+3?")]
REASONED = [user("2+2?"), assistant("4", reasoning_content="Four, surely."), user("And 3+3?")]
PARTS = [{"role": "user", "content": [{"type": "text", "text": "What is "}, {"type": "text", "text": "this?"}]},
         {"role": "assistant", "content": [{"type": "text", "text": "A list."}]}, user("Right.")]

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather\nin a city.",
    "parameters": {"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "description": "a city, e.g. \"Zürich\""},
        "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
        "days": {"type": "array", "items": {"type": "integer"}},
        "where": {"type": "object", "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}}}}}}}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "The time.",
                                          "parameters": {"type": "object", "properties": {}}}}


def tool_turns(as_text):
    import json
    arguments = {"city": "Zürich", "days": [1, 2], "unit": "C", "exact": True, "limit": 1.5, "note": None}
    call = {"id": "call_1234", "type": "function",
            "function": {"name": "get_weather", "arguments": json.dumps(arguments) if as_text else arguments}}
    return [user("Weather in Zürich?"), {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "name": "get_weather", "tool_call_id": "call_1234", "content": "{\"temp\": 21}"},
            assistant("It is 21 °C."), user("Thanks.")]


def contexts():
    """(name, context) of each."""
    tokens = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}

    def of(messages, **more):
        return {"messages": messages, "tools": None, "documents": None, "add_generation_prompt": True, **tokens, **more}

    tools = [WEATHER, CLOCK]
    return [
        ("one", of([user("Hi")])),
        ("system", of([SYSTEM, user("Hi")])),
        ("turns", of(TURNS)),
        ("turns_system", of([SYSTEM, *TURNS])),
        ("no_prompt", of([*TURNS, assistant("Why did the chicken?")], add_generation_prompt=False)),
        ("answered", of([*TURNS, assistant("Why did the chicken?")])),
        ("odd", of(ODD)),
        ("twice", of([user("a"), user("b")])),
        ("only_system", of([SYSTEM])),
        ("no_messages", of([])),
        ("unknown_role", of([user("a"), {"role": "wizard", "content": "b"}])),
        ("thought", of(THOUGHT, enable_thinking=True)),
        ("no_thinking", of(THOUGHT, enable_thinking=False)),
        ("reasoned", of([SYSTEM, *REASONED])),
        ("parts", of(PARTS)),
        ("tools", of([user("Weather?")], tools=tools)),
        ("tools_system", of([SYSTEM, user("Weather?")], tools=tools)),
        ("tool_turns", of([SYSTEM, *tool_turns(False)], tools=tools)),
        ("tool_turns_text", of(tool_turns(True), tools=tools)),
        ("tool_result_last", of(tool_turns(False)[:3], tools=tools)),
        ("documents", of([user("Who?")], documents=[{"title": "A", "text": "Ann."}, {"title": "B", "text": "Bob.", "n": 1}])),
        ("date", of([user("Hi")], date_string="01 Jan 2025", builtin_tools=["brave_search"], reasoning_effort="high")),
    ]
