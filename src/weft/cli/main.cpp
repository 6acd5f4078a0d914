#include "weft/cli/program.h"

int main(int argc, char** argv) { return weft::cli::run_program(argc, argv); }
