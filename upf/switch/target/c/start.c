/* Starts DPDK in this process, and its memory. See switch.h. */
#define _GNU_SOURCE
#include "internal.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_memory.h>
#include <rte_version.h>

const char *mswx_version(void)
{
	return rte_version();
}

int mswx_start(int argc, const char *const *argv)
{
	int status = rte_eal_init(argc, (char **)(uintptr_t)argv);

	mswx_take_exact_tables();
	return status < 0 ? -rte_errno : 0;
}

void mswx_register_thread(void)
{
	if (rte_lcore_id() == LCORE_ID_ANY)
		rte_thread_register();
}

/* Without reserved huge pages, DPDK's memory is a memory file, which most systems do not back with
 * large pages (transparent_hugepage/shmem_enabled). Anonymous memory can use them with madvise, so
 * it replaces the file's mapping, with its content. */
static int make_anonymous(const struct rte_memseg_list *list, void *unused)
{
	const struct rte_memseg *first = list->len ? rte_fbarray_get(&list->memseg_arr, 0) : NULL;
	int file = first ? rte_memseg_get_fd_thread_unsafe(first) : -1;
	uint8_t *base = list->base_va, *fresh;
	off_t at = 0, end;

	(void)unused;
	if (file >= 0) {
		fresh = mmap(NULL, list->len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (fresh == MAP_FAILED)
			return 0;
		while ((at = lseek(file, at, SEEK_DATA)) >= 0 && (size_t)at < list->len) {
			end = lseek(file, at, SEEK_HOLE);
			if (end < at || (size_t)end > list->len)
				end = (off_t)list->len;
			memcpy(fresh + at, base + at, (size_t)(end - at));
			at = end;
		}
		if (mremap(fresh, list->len, list->len, MREMAP_MAYMOVE | MREMAP_FIXED, base) == MAP_FAILED)
			munmap(fresh, list->len);
	}
	if (base && list->len)
		madvise(base, list->len, MADV_HUGEPAGE);
	return 0;
}

/* Enables large pages without a reservation, while only DPDK itself uses its memory. */
void mswx_trust_huge_pages(void)
{
	rte_memseg_list_walk(make_anonymous, NULL);
}
