/* Included when DPDK's generated C code of a pipeline is compiled: field instructions with accesses
 * as wide as the field.
 *
 * DPDK reads and writes 64 bits per field, with a mask. A load that overlaps a preceding store that
 * is still in the store buffer stalls for about 12 cycles. In code that fills a header field by
 * field this is a third of all time. Operands are constants here, so each access becomes one or two
 * machine instructions. Everything else is DPDK's.
 *
 * Include after rte_swx_pipeline_internal.h. Assumes a little-endian CPU, as the rest of this
 * target assumes SSE. */
#ifndef MARTLET_WIDTHS_H
#define MARTLET_WIDTHS_H
#include <stdint.h>

#define WIDTHS_INLINE static inline __attribute__((always_inline))

/* All accesses use this type, so that their order among each other and with DPDK's is preserved,
 * while the compiler may cache the pointers to the structs, which have another type. An enumeration
 * type is no character type, which could alias everything. */
enum __attribute__((packed)) widths_octet { WIDTHS_LEAST = 0, WIDTHS_MOST = 255 };
union __attribute__((packed)) widths_any {
	enum widths_octet of8;
	uint16_t of16;
	uint32_t of32;
	uint64_t of64;
};
#define WIDTHS_AT(at, bits) (((union widths_any *)(at))->of##bits)

/* The bytes of a field, the first byte lowest. */
WIDTHS_INLINE uint64_t widths_load(uint8_t *at, uint32_t bits)
{
	switch (bits) {
	case 8:
		return WIDTHS_AT(at, 8);
	case 16:
		return WIDTHS_AT(at, 16);
	case 24:
		return WIDTHS_AT(at, 16) | (uint64_t)WIDTHS_AT(at + 2, 8) << 16;
	case 32:
		return WIDTHS_AT(at, 32);
	case 40:
		return WIDTHS_AT(at, 32) | (uint64_t)WIDTHS_AT(at + 4, 8) << 32;
	case 48:
		return WIDTHS_AT(at, 32) | (uint64_t)WIDTHS_AT(at + 4, 16) << 32;
	case 56:
		return WIDTHS_AT(at, 32) | (uint64_t)WIDTHS_AT(at + 4, 16) << 32 |
			   (uint64_t)WIDTHS_AT(at + 6, 8) << 48;
	default:
		return WIDTHS_AT(at, 64);
	}
}

WIDTHS_INLINE void widths_store(uint8_t *at, uint32_t bits, uint64_t value)
{
	switch (bits) {
	case 8:
		WIDTHS_AT(at, 8) = (uint8_t)value;
		break;
	case 16:
		WIDTHS_AT(at, 16) = (uint16_t)value;
		break;
	case 24:
		WIDTHS_AT(at, 16) = (uint16_t)value;
		WIDTHS_AT(at + 2, 8) = (uint8_t)(value >> 16);
		break;
	case 32:
		WIDTHS_AT(at, 32) = (uint32_t)value;
		break;
	case 40:
		WIDTHS_AT(at, 32) = (uint32_t)value;
		WIDTHS_AT(at + 4, 8) = (uint8_t)(value >> 32);
		break;
	case 48:
		WIDTHS_AT(at, 32) = (uint32_t)value;
		WIDTHS_AT(at + 4, 16) = (uint16_t)(value >> 32);
		break;
	case 56:
		WIDTHS_AT(at, 32) = (uint32_t)value;
		WIDTHS_AT(at + 4, 16) = (uint16_t)(value >> 32);
		WIDTHS_AT(at + 6, 8) = (uint8_t)(value >> 48);
		break;
	default:
		WIDTHS_AT(at, 64) = value;
	}
}

/* Converts between the bytes of a header field and its value; the function is its own inverse. */
WIDTHS_INLINE uint64_t widths_swapped(uint64_t value, uint32_t bits)
{
	switch (bits) {
	case 8:
		return value & 0xff;
	case 16:
		return __builtin_bswap16((uint16_t)value);
	case 32:
		return __builtin_bswap32((uint32_t)value);
	default:
		return __builtin_bswap64(value) >> (64 - bits);
	}
}

WIDTHS_INLINE uint8_t *widths_at(const struct thread *t, const struct instr_operand *x)
{
	return t->structs[x->struct_id] + x->offset;
}

/* The value of a field of metadata or action arguments (hbo), or of a header (nbo). */
WIDTHS_INLINE uint64_t widths_hbo(const struct thread *t, const struct instr_operand *x)
{
	return widths_load(widths_at(t, x), x->n_bits);
}

WIDTHS_INLINE uint64_t widths_nbo(const struct thread *t, const struct instr_operand *x)
{
	return widths_swapped(widths_load(widths_at(t, x), x->n_bits), x->n_bits);
}

WIDTHS_INLINE void widths_set_hbo(
	const struct thread *t, const struct instr_operand *x, uint64_t value)
{
	widths_store(widths_at(t, x), x->n_bits, value);
}

WIDTHS_INLINE void widths_set_nbo(
	const struct thread *t, const struct instr_operand *x, uint64_t value)
{
	widths_store(widths_at(t, x), x->n_bits, widths_swapped(value, x->n_bits));
}

#define WIDTHS(name) \
	WIDTHS_INLINE void name( \
		struct rte_swx_pipeline *p, struct thread *t, const struct instruction *ip)

/* Extracts one header. */
WIDTHS(widths_extract)
{
	uint32_t bytes = ip->io.hdr.n_bytes[0];

	(void)p;
	t->structs[ip->io.hdr.struct_id[0]] = t->ptr;
	t->valid_headers = MASK64_BIT_SET(t->valid_headers, ip->io.hdr.header_id[0]);
	t->pkt.offset += bytes;
	t->pkt.length -= bytes;
	t->ptr += bytes;
}

WIDTHS(widths_mov)
{
	(void)p;
	widths_set_hbo(t, &ip->mov.dst, widths_hbo(t, &ip->mov.src));
}

WIDTHS(widths_mov_mh)
{
	(void)p;
	widths_set_hbo(t, &ip->mov.dst, widths_nbo(t, &ip->mov.src));
}

WIDTHS(widths_mov_hm)
{
	(void)p;
	widths_set_nbo(t, &ip->mov.dst, widths_hbo(t, &ip->mov.src));
}

WIDTHS(widths_mov_hh)
{
	(void)p;
	if (ip->mov.dst.n_bits == ip->mov.src.n_bits)
		widths_set_hbo(t, &ip->mov.dst, widths_hbo(t, &ip->mov.src));
	else
		widths_set_nbo(t, &ip->mov.dst, widths_nbo(t, &ip->mov.src));
}

/* DPDK has already swapped the constant for header fields. */
WIDTHS(widths_mov_i)
{
	(void)p;
	widths_set_hbo(t, &ip->mov.dst, ip->mov.src_val);
}

#define WIDTHS_ALU(name, operator) \
	WIDTHS(widths_##name) \
	{ \
		(void)p; \
		widths_set_hbo( \
			t, &ip->alu.dst, widths_hbo(t, &ip->alu.dst) operator widths_hbo(t, &ip->alu.src)); \
	} \
	WIDTHS(widths_##name##_mh) \
	{ \
		(void)p; \
		widths_set_hbo( \
			t, &ip->alu.dst, widths_hbo(t, &ip->alu.dst) operator widths_nbo(t, &ip->alu.src)); \
	} \
	WIDTHS(widths_##name##_hm) \
	{ \
		(void)p; \
		widths_set_nbo( \
			t, &ip->alu.dst, widths_nbo(t, &ip->alu.dst) operator widths_hbo(t, &ip->alu.src)); \
	} \
	WIDTHS(widths_##name##_hh) \
	{ \
		(void)p; \
		widths_set_nbo( \
			t, &ip->alu.dst, widths_nbo(t, &ip->alu.dst) operator widths_nbo(t, &ip->alu.src)); \
	} \
	WIDTHS(widths_##name##_i) \
	{ \
		(void)p; \
		widths_set_hbo(t, &ip->alu.dst, widths_hbo(t, &ip->alu.dst) operator ip->alu.src_val); \
	} \
	WIDTHS(widths_##name##_hi) \
	{ \
		(void)p; \
		widths_set_nbo(t, &ip->alu.dst, widths_nbo(t, &ip->alu.dst) operator ip->alu.src_val); \
	}

WIDTHS_ALU(add, +)
WIDTHS_ALU(sub, -)
WIDTHS_ALU(and, &)
WIDTHS_ALU(or, |)
WIDTHS_ALU(xor, ^)

/* Counters and meters with their index in metadata. */
WIDTHS_INLINE uint64_t *widths_register(
	struct rte_swx_pipeline *p, struct thread *t, const struct instruction *ip)
{
	const struct regarray_runtime *r = &p->regarray_runtime[ip->regarray.regarray_id];

	return &r->regarray[widths_hbo(t, &ip->regarray.idx) & r->size_mask];
}

WIDTHS(widths_regprefetch_rm)
{
	rte_prefetch0(widths_register(p, t, ip));
}

WIDTHS(widths_regadd_rmm)
{
	*widths_register(p, t, ip) += widths_hbo(t, &ip->regarray.dstsrc);
}

WIDTHS(widths_regadd_rmh)
{
	*widths_register(p, t, ip) += widths_nbo(t, &ip->regarray.dstsrc);
}

WIDTHS(widths_regadd_rmi)
{
	*widths_register(p, t, ip) += ip->regarray.dstsrc_val;
}

/* A meter with index, length and colour in metadata, without an input colour. */
WIDTHS(widths_meter_mmi)
{
	const struct metarray_runtime *r = &p->metarray_runtime[ip->meter.metarray_id];
	struct meter *m = &r->metarray[widths_hbo(t, &ip->meter.idx) & r->size_mask];
	uint32_t bytes = (uint32_t)widths_hbo(t, &ip->meter.length);
	enum rte_color colour = rte_meter_trtcm_color_aware_check(&m->m, &m->profile->profile,
		rte_get_tsc_cycles(), bytes, (enum rte_color)ip->meter.color_in_val);

	colour &= m->color_mask;
	widths_set_hbo(t, &ip->meter.color_out, colour);
	m->n_pkts[colour]++;
	m->n_bytes[colour] += bytes;
}

#define instr_operand_hbo widths_hbo
#define instr_operand_nbo widths_nbo
#define __instr_hdr_extract_exec widths_extract
#define __instr_mov_exec widths_mov
#define __instr_mov_mh_exec widths_mov_mh
#define __instr_mov_hm_exec widths_mov_hm
#define __instr_mov_hh_exec widths_mov_hh
#define __instr_mov_i_exec widths_mov_i
#define __instr_alu_add_exec widths_add
#define __instr_alu_add_mh_exec widths_add_mh
#define __instr_alu_add_hm_exec widths_add_hm
#define __instr_alu_add_hh_exec widths_add_hh
#define __instr_alu_add_mi_exec widths_add_i
#define __instr_alu_add_hi_exec widths_add_hi
#define __instr_alu_sub_exec widths_sub
#define __instr_alu_sub_mh_exec widths_sub_mh
#define __instr_alu_sub_hm_exec widths_sub_hm
#define __instr_alu_sub_hh_exec widths_sub_hh
#define __instr_alu_sub_mi_exec widths_sub_i
#define __instr_alu_sub_hi_exec widths_sub_hi
/* For these, DPDK swaps constants for header fields. */
#define __instr_alu_and_exec widths_and
#define __instr_alu_and_mh_exec widths_and_mh
#define __instr_alu_and_hm_exec widths_and_hm
#define __instr_alu_and_hh_exec widths_and_hh
#define __instr_alu_and_i_exec widths_and_i
#define __instr_alu_or_exec widths_or
#define __instr_alu_or_mh_exec widths_or_mh
#define __instr_alu_or_hm_exec widths_or_hm
#define __instr_alu_or_hh_exec widths_or_hh
#define __instr_alu_or_i_exec widths_or_i
#define __instr_alu_xor_exec widths_xor
#define __instr_alu_xor_mh_exec widths_xor_mh
#define __instr_alu_xor_hm_exec widths_xor_hm
#define __instr_alu_xor_hh_exec widths_xor_hh
#define __instr_alu_xor_i_exec widths_xor_i
#define __instr_regprefetch_rm_exec widths_regprefetch_rm
#define __instr_regadd_rmm_exec widths_regadd_rmm
#define __instr_regadd_rmh_exec widths_regadd_rmh
#define __instr_regadd_rmi_exec widths_regadd_rmi
#define __instr_meter_mmi_exec widths_meter_mmi
#endif
