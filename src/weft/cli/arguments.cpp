#include "weft/cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>

#include "weft/base/thread_pool.h"
#include "weft/models/quantize_types.h"
#include "weft/version.h"

namespace weft::cli {
namespace {

constexpr int usage_error = 2;

CLI::Option* add_ids(CLI::App& command, std::vector<std::int32_t>& ids, const std::string& what) {
  return command.add_option("--ids", ids, what)->delimiter(',')->allow_extra_args(false)->type_name("1,2,3");
}

void add_threads(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "threads to use (default: one per CPU)")
      ->check(CLI::Range(1, ThreadPool::max_threads));
}

void add_kv_type(CLI::App& command, std::string& type) {
  command.add_option("--kv-type", type, "how keys and values are kept")
      ->capture_default_str()
      ->check(CLI::IsMember({"f32", "f16", "bf16", "q8_0"}));
}

void add_rules(CLI::App& command, std::vector<std::string>& rules) {
  command
      .add_option(
          "--tensor", rules,
          "another type for tensors whose name matches a glob, as PATTERN=TYPE; may be repeated, the last match "
          "counts")
      ->allow_extra_args(false);
}

void add_legacy(CLI::App& command, bool& legacy) {
  command.add_flag("--legacy", legacy, "read a .model of format version 1, whose encodings mean other things");
}

void add_sampling(CLI::App& command, SamplingArguments& arguments) {
  command.add_option("--temp", arguments.temperature, "temperature, 0 for the most likely token (default 0.8)")
      ->check(CLI::Range(0.0, 1e6));
  command.add_option("--top-k", arguments.top_k, "draw from the K most likely, 0 for all (default 40)")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--top-p", arguments.top_p, "... from those that sum to P (default 0.95)")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--min-p", arguments.min_p, "... from those with P of the best one's probability (default 0.05)")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--seed", arguments.seed, "start of the random numbers; the one used is reported");
}

void add_context(CLI::App& command, std::int64_t& context) {
  command.add_option("--ctx", context, "most tokens of prompt and continuation (default: the model's, up to 4096)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31));
}

void add_max_tokens(CLI::App& command, std::int64_t& count, const std::string& what) {
  command.add_option("-n,--max-tokens", count, what)
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{-1}, std::int64_t{1} << 40));
}

void describe_run(CLI::App& command, RunArguments& arguments) {
  command.add_option("MODEL", arguments.model, "a GGUF file or a .model; the bundled model when left out");
  auto* prompt = command.add_option("-p,--prompt", arguments.prompt, "the text to continue");
  auto* file = command.add_option("--file", arguments.prompt_file, "read the text from a file, - for standard input");
  auto* ids = add_ids(command, arguments.ids, "token ids to continue, instead of text");
  prompt->excludes(file)->excludes(ids);
  file->excludes(ids);
  add_max_tokens(command, arguments.max_tokens, "most tokens to write, -1 for no limit");
  add_context(command, arguments.context);
  add_sampling(command, arguments.sampling);
  command.add_option("--stop", arguments.stop, "end before this text; may be repeated")->allow_extra_args(false);
  command.add_flag("--ignore-eos", arguments.ignore_eos, "go on after the end-of-text token");
  command.add_flag("--no-bos", arguments.no_bos, "do not put the begin-of-text token in front");
  add_threads(command, arguments.threads);
  command.add_option("--backend", arguments.backend, "run on this backend");
  add_kv_type(command, arguments.kv_type);
  command.add_flag("--profile", arguments.profile, "print where the time went, per op");
  command.add_flag("--explain", arguments.explain, "print where each node runs, and why");
  command.add_option("--trace", arguments.trace, "write each instruction's time for Perfetto or chrome://tracing");
  command.add_flag("--check-nan", arguments.check_nan, "stop at the first op that produces a NaN or an infinity");
  command.add_flag("--json", arguments.json, "print one JSON object instead of streaming text");
  command.footer(
      "Examples:\n"
      "  weft run -p \"It is a truth\"                         the bundled model\n"
      "  weft run model.gguf -p \"Once upon a time\" -n 64      a model of your own\n"
      "  weft run model.gguf --file prompt.txt --temp 0 --json");
}

void describe_chat(CLI::App& command, ChatArguments& arguments) {
  command.add_option("MODEL", arguments.model, "a GGUF file or a .model")->required();
  command.add_option("--system", arguments.system, "the system message");
  command.add_option("--template", arguments.chat_template,
                     "how messages become a prompt: chatml, llama-3, gemma, gemma4, plain or a file with a Jinja "
                     "template (default: the model's own)");
  command.add_option("--vars", arguments.variables,
                     "further variables of the template, a JSON object such as '{\"enable_thinking\": false}'");
  add_max_tokens(command, arguments.max_tokens, "most tokens of a reply, -1 for no limit");
  add_context(command, arguments.context);
  add_sampling(command, arguments.sampling);
  command.add_option("--stop", arguments.stop, "end a reply before this text; may be repeated")
      ->allow_extra_args(false);
  add_threads(command, arguments.threads);
  command.add_option("--backend", arguments.backend, "run on this backend");
  add_kv_type(command, arguments.kv_type);
  command.add_flag("--render", arguments.render, "print the prompt that each message makes instead of a reply");
  command.add_flag("--json", arguments.json, "print one JSON object per reply instead of streaming text");
  command.footer(
      "Each line on standard input is a message; one that ends with \\ goes on in the next line. Lines that begin with "
      "/ "
      "are\ncommands: /help lists them. Ctrl-C ends a reply, a second one or Ctrl-D the conversation.\n\n"
      "Examples:\n"
      "  weft chat model.gguf --system \"You are terse.\"\n"
      "  printf 'Hello\\nAnd now?\\n' | weft chat model.gguf --temp 0 --json");
}

void describe_import(CLI::App& command, ImportArguments& arguments) {
  command.add_option("SRC", arguments.source, "a GGUF file, any part of a split set, or a .model")->required();
  command.add_option("-o,--output", arguments.output, "the .model to write")->required();
  command.add_option("--align", arguments.alignment, "alignment of tensors in bytes")
      ->capture_default_str()
      ->check(CLI::IsMember({64u, 4096u}));
  command.add_option("--quant", arguments.quant, "store the matrices as this type instead of their own")
      ->check(CLI::IsMember(quantize_type_names(WeightFile::model)));
  add_rules(command, arguments.rules);
  command
      .add_option_function<std::string>(
          "--profile", [&](const std::string& profile) { arguments.canonical = profile == "canonical"; },
          "extended: any encoding; canonical: the five that every reader knows (u32, u16, q8, q4, ternary)")
      ->default_str("extended")
      ->check(CLI::IsMember({"extended", "canonical"}));
  add_legacy(command, arguments.legacy);
  add_threads(command, arguments.threads);
  command.footer(
      "Examples:\n"
      "  weft import model.gguf -o model.model\n"
      "  weft import f16.gguf -o mixed.model --quant q4_k --tensor '*.down_proj.weight=q6_k'\n"
      "  weft import model.gguf -o exchange.model --profile canonical");
}

void describe_inspect(CLI::App& command, InspectArguments& arguments) {
  command.add_option("FILE", arguments.file, "a GGUF file or a .model")->required();
  command.add_flag("--tensors", arguments.tensors, "list every tensor");
  command.add_flag("--hash", arguments.hash,
                   "the SHA-256 of the file, which is its identity, and of each section of a .model");
  add_legacy(command, arguments.legacy);
  command.add_flag("--json", arguments.json, "print one JSON object");
  command.footer("Example:\n  weft inspect model.gguf --tensors");
}

void describe_verify(CLI::App& command, VerifyArguments& arguments) {
  command.add_option("FILE", arguments.file, "a GGUF file, any part of a split set, or a .model")->required();
  command.add_flag("--eval", arguments.eval, "also run the prompts of section eval and look for the expected answers");
  add_legacy(command, arguments.legacy);
  add_threads(command, arguments.threads);
  command.add_flag("--json", arguments.json, "print one JSON object");
  command.footer(
      "The exit status is 1 when an error was found; warnings alone leave it 0.\n\nExample:\n  weft verify model.gguf");
}

void describe_graph(CLI::App& command, GraphArguments& arguments) {
  static const std::map<std::string, GraphFormat> formats{{"text", GraphFormat::text},
                                                          {"toml", GraphFormat::toml},
                                                          {"json", GraphFormat::json},
                                                          {"dot", GraphFormat::dot},
                                                          {"binary", GraphFormat::binary}};
  command.add_option("FILE", arguments.file, "a GGUF file or a .model");
  command.add_option("--format", arguments.format, "text (canonical), toml, json or binary (Graph IR), dot (Graphviz)")
      ->transform(CLI::CheckedTransformer(formats))
      ->default_str("text");
  command.add_option("-o,--output", arguments.output, "write to this file instead of standard output");
  command.add_option("--after", arguments.after, "as it is after this pass (`weft passes` lists them), or after all");
  command.add_option("--without", arguments.without, "leave this pass out; may be repeated")->allow_extra_args(false);
  command.footer(
      "Examples:\n"
      "  weft graph model.gguf --format dot | dot -Tsvg > graph.svg\n"
      "  weft graph model.gguf --after all --without elementwise\n"
      "  weft graph model.gguf --format binary -o graph.bin");
}

void describe_graph_import(CLI::App& command, GraphImportArguments& arguments) {
  command.add_option("FILE", arguments.graph, "the graph: Graph IR as .toml, .json or .bin (binary)")->required();
  command.add_option("--weights", arguments.weights, "its weights by name, .safetensors or .npz");
  command.add_option("-o,--output", arguments.output, "the .model to write")->required();
  command.footer("Example:\n  weft graph import net.toml -o net.model --weights net.safetensors");
}

void describe_exec(CLI::App& command, ExecArguments& arguments) {
  command.add_option("MODEL", arguments.model, "a .model or a GGUF file")->required();
  command.add_option("--input", arguments.inputs, "the .npy that an input takes, as NAME=FILE; once for each input")
      ->allow_extra_args(false);
  command
      .add_option("--output", arguments.outputs,
                  "the .npy to write an output to, as NAME=FILE; may be repeated (without: shapes are printed)")
      ->allow_extra_args(false);
  command.add_option("--backend", arguments.backend, "run on this backend");
  add_threads(command, arguments.threads);
  command.add_flag("--explain", arguments.explain, "print where each node runs, and why");
  command.add_flag("--check-nan", arguments.check_nan, "stop at the first op that produces a NaN or an infinity");
  command.footer("Example:\n  weft exec net.model --input image=cat.npy --output logits=logits.npy");
}

void describe_logits(CLI::App& command, LogitsArguments& arguments) {
  command.add_option("MODEL", arguments.model, "a GGUF file or a .model")->required();
  add_ids(command, arguments.ids, "the token ids to run")->required();
  command.add_option("-o,--output", arguments.output, "the .npy to write, float32 [positions, vocabulary]")->required();
  add_kv_type(command, arguments.kv_type);
  command.add_option("--backend", arguments.backend, "run on this backend");
  add_threads(command, arguments.threads);
  command.footer("Example:\n  weft logits model.gguf --ids 1,300,417 -o logits.npy");
}

void describe_tokenize(CLI::App& command, TokenizeArguments& arguments) {
  command.add_option("MODEL", arguments.model, "a GGUF file, a .model or a tokenizer.json")->required();
  auto* text = command.add_option("TEXT", arguments.text, "the text");
  command.add_option("--file", arguments.file, "read the text from a file, - for standard input")->excludes(text);
  command.add_flag("--ids", arguments.ids_only, "print the ids alone, on one line");
  command.footer("Example:\n  weft tokenize model.gguf \"Hello world\" --ids");
}

void describe_quantize(CLI::App& command, QuantizeArguments& arguments) {
  command.add_option("IN", arguments.source, "a GGUF file, any part of a split set")->required();
  command.add_option("OUT", arguments.output, "the GGUF file to write")->required();
  command.add_option("--type", arguments.type, "the type of the matrices; norms and biases become f32")
      ->required()
      ->check(CLI::IsMember(quantize_type_names()));
  add_rules(command, arguments.rules);
  add_threads(command, arguments.threads);
  command.footer(
      "Examples:\n"
      "  weft quantize model-f16.gguf model-q4_k.gguf --type q4_k\n"
      "  weft quantize model-f16.gguf mixed.gguf --type q4_k --tensor 'token_embd.weight=q6_k' --tensor "
      "'*ffn_down*=q5_k'");
}

void describe_eval(CLI::App& command, EvalArguments& arguments) {
  command.add_option("MODEL", arguments.model, "a GGUF file or a .model")->required();
  command.add_option("--file", arguments.file, "the text to predict, - for standard input")->required();
  command.add_option("--against", arguments.against,
                     "a model of the same vocabulary, such as the one before quantization");
  command
      .add_option("--ctx", arguments.context,
                  "tokens of a window, begin-of-text included (default: the model's, up to 512)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31));
  command.add_option("--stride", arguments.stride, "tokens by which windows advance (default: --ctx, no overlap)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31));
  command.add_option("--tokens", arguments.tokens, "score the first N tokens of the text alone")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command.add_option("--backend", arguments.backend, "run on this backend");
  add_threads(command, arguments.threads);
  command.add_flag("--json", arguments.json, "print one JSON object");
  command.footer(
      "Each window starts with the begin-of-text token, where the model has one put before a prompt; otherwise the "
      "first token of\n"
      "the text is not scored. A token is scored in the first window that holds it.\n\n"
      "Examples:\n"
      "  weft eval model.gguf --file text.txt\n"
      "  weft eval model-q4_k.gguf --file text.txt --against model-f16.gguf --stride 256 --json");
}

void describe_ops(CLI::App& command, OpsArguments& arguments) {
  command.add_option("NAME", arguments.name, "an op, to see all about it");
  command.footer("Examples:\n  weft ops\n  weft ops RmsNorm");
}

void describe_passes(CLI::App& command, PassesArguments& arguments) {
  command.add_option("MODEL", arguments.file, "a GGUF file or a .model, to see what each pass matched in its graph");
  command.footer("Examples:\n  weft passes\n  weft passes model.gguf");
}

void describe_cpu(CLI::App& command, CpuArguments& arguments) {
  command.add_flag("--measure", arguments.measure, "measure read bandwidth and multiplication rates (some seconds)");
  add_threads(command, arguments.threads);
  command.add_flag("--json", arguments.json, "print one JSON object");
  command.footer("Examples:\n  weft cpu\n  weft cpu --measure");
}

void describe_bench(CLI::App& command, BenchArguments& arguments) {
  const auto tokens = CLI::Range(std::int64_t{1}, std::int64_t{1} << 30);
  command.add_option("MODEL", arguments.model, "a GGUF file or a .model")->required();
  command.add_option("-p,--prompt", arguments.prompt, "tokens of the prompt")->capture_default_str()->check(tokens);
  command.add_option("-n,--new", arguments.new_tokens, "tokens to write")->capture_default_str()->check(tokens);
  command.add_option("-r,--repeats", arguments.repeats, "runs that the medians are of")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100000}));
  add_threads(command, arguments.threads);
  command.add_option("--ctx", arguments.context, "context to reserve (default: prompt and new tokens)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31));
  add_kv_type(command, arguments.kv_type);
  command.add_option("--backend", arguments.backend, "run on this backend");
  command.add_flag("--serve", arguments.serve, "one run, and one line of JSON, per line on standard input");
  command.add_flag("--json", arguments.json, "print one JSON object");
  command.footer("Example:\n  weft bench model.gguf -p 512 -n 64 -r 5");
}

void describe_plan(CLI::App& command, PlanArguments& arguments) {
  const auto tokens = CLI::Range(std::int64_t{0}, std::int64_t{1} << 30);
  command.add_option("MODEL", arguments.model, "a GGUF file or a .model")->required();
  command.add_option("--rows", arguments.rows, "tokens of the run")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
  command.add_option("--past", arguments.past, "tokens before it")->capture_default_str()->check(tokens);
  command.add_option("--ctx", arguments.context, "context to plan for (default: the tokens of the run)")->check(tokens);
  add_kv_type(command, arguments.kv_type);
  command.add_option("--without", arguments.without, "leave out a pass; may be repeated")->allow_extra_args(false);
  add_threads(command, arguments.threads);
  command.add_flag("--json", arguments.json, "print one JSON object");
  command.footer("Examples:\n  weft plan model.gguf\n  weft plan model.gguf --rows 512 --past 0");
}

}  // namespace

ParseResult parse_arguments(int argc, const char* const* argv) {
  CLI::App app{"weft runs neural networks: a graph compiler and runtime", "weft"};
  app.set_version_flag("--version", WEFT_VERSION);
  app.require_subcommand(1);
  app.footer("Example:\n  weft run -p \"It is a truth universally acknowledged\"\n\nweft COMMAND --help tells more.");

  Arguments arguments;
  RunArguments run;
  ChatArguments chat;
  ImportArguments import;
  InspectArguments inspect;
  GraphArguments graph;
  GraphImportArguments graph_import;
  ExecArguments exec;
  LogitsArguments logits;
  TokenizeArguments tokenize;
  OpsArguments ops;
  PassesArguments passes;
  CpuArguments cpu;
  BenchArguments bench;
  PlanArguments plan;
  QuantizeArguments quantize;
  EvalArguments eval;
  VerifyArguments verify;
  describe_run(*app.add_subcommand("run", "Continue a text with a language model"), run);
  describe_chat(*app.add_subcommand("chat", "Talk with a language model"), chat);
  describe_import(*app.add_subcommand("import", "Write a model as a .model, with its graph"), import);
  describe_quantize(*app.add_subcommand("quantize", "Write a GGUF with the weights in another type"), quantize);
  describe_eval(*app.add_subcommand("eval", "Measure how well a model predicts a text"), eval);
  describe_inspect(*app.add_subcommand("inspect", "Show what is in a file"), inspect);
  describe_verify(*app.add_subcommand("verify", "Check a file for all that can be wrong with it"), verify);
  CLI::App& graph_command = *app.add_subcommand("graph", "Print a model's graph, or make a model of one");
  describe_graph(graph_command, graph);
  describe_graph_import(*graph_command.add_subcommand("import", "Write a graph and its weights as a .model"),
                        graph_import);
  describe_exec(*app.add_subcommand("exec", "Run a graph on arrays"), exec);
  describe_logits(*app.add_subcommand("logits", "Write the logits of given tokens"), logits);
  describe_tokenize(*app.add_subcommand("tokenize", "Show how a model cuts a text into tokens"), tokenize);
  describe_ops(*app.add_subcommand("ops", "List the ops, or explain one"), ops);
  describe_passes(*app.add_subcommand("passes", "List the passes, or what they do to a model's graph"), passes);
  describe_cpu(*app.add_subcommand("cpu", "Show what the processor has, and measure it"), cpu);
  describe_bench(*app.add_subcommand("bench", "Measure a model's speed against the machine's limit"), bench);
  describe_plan(*app.add_subcommand("plan", "Show what a model compiles to, and what the machine allows"), plan);

  try {
    app.parse(argc, argv);
    const CLI::App* command = app.get_subcommands().front();
    const std::string& name = command->get_name();
    if (name == "run") {
      if (!run.prompt && !run.prompt_file && run.ids.empty())
        throw CLI::ValidationError("run", "give a text with -p or --file, or tokens with --ids");
      return {run};
    }
    if (name == "tokenize") {
      if (!tokenize.text && !tokenize.file)
        throw CLI::ValidationError("tokenize", "give a TEXT, or a file with --file");
      return {tokenize};
    }
    if (name == "chat") return {chat};
    if (name == "import") return {import};
    if (name == "quantize") return {quantize};
    if (name == "eval") return {eval};
    if (name == "inspect") return {inspect};
    if (name == "verify") return {verify};
    if (name == "graph") {
      if (!command->get_subcommands().empty()) return {graph_import};
      if (graph.file.empty()) throw CLI::RequiredError("FILE");
      return {graph};
    }
    if (name == "exec") return {exec};
    if (name == "logits") return {logits};
    if (name == "passes") return {passes};
    if (name == "cpu") return {cpu};
    if (name == "bench") return {bench};
    if (name == "plan") return {plan};
    return {ops};
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);  // prints the help or the version
      return {std::nullopt, 0};
    }
    fmt::print(stderr, "weft: {}; see weft --help\n", error.what());
    return {std::nullopt, usage_error};
  }
}

}  // namespace weft::cli
