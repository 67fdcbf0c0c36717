/* Converts a `.spec` file to C with DPDK's code generator; used by the build only. */
#include <stdio.h>
#include <rte_swx_pipeline.h>

int main(int argc, char **argv)
{
	FILE *in = argc == 3 ? fopen(argv[1], "r") : NULL,
		 *out = argc == 3 ? fopen(argv[2], "w") : NULL;
	const char *message = "";
	uint32_t line = 0;
	int status;

	if (!in || !out) {
		fprintf(stderr, "generate SPEC CODE\n");
		return 2;
	}
	status = rte_swx_pipeline_codegen(in, out, &line, &message);
	if (status)
		fprintf(stderr, "%s:%u: %s (%d)\n", argv[1], line, message ? message : "", status);
	fclose(out);
	return status != 0;
}
