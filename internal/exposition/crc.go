package exposition

import (
	"hash/crc32"
	"math/bits"
)

// combineCRC returns the CRC-32 of two pieces joined, from their own checksums
// and the length of the second. Checksums are polynomials over GF(2): appending
// n bytes multiplies the first by x^(8n) modulo the generator.
func combineCRC(first, second uint32, n int64) uint32 {
	shift := uint32(1) << 31 // x^0, the coefficients being stored in reverse
	for ; n > 0; n &= n - 1 {
		shift = mulCRC(shift, crcPowers[bits.TrailingZeros64(uint64(n))])
	}
	return mulCRC(shift, first) ^ second
}

// crcPowers are x^(8 * 2^k).
var crcPowers = func() (p [63]uint32) {
	p[0] = 1 << 31 >> 8
	for k := 1; k < len(p); k++ {
		p[k] = mulCRC(p[k-1], p[k-1])
	}
	return p
}()

// mulCRC multiplies modulo the generator.
func mulCRC(a, b uint32) uint32 {
	var p uint32
	for bit := uint32(1) << 31; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			p ^= b
		}
		odd := b & 1
		b >>= 1
		if odd == 1 {
			b ^= crc32.IEEE
		}
	}
	return p
}
