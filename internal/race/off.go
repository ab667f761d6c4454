//go:build !race

package race

// Detector reports whether the race detector is active. It allocates by itself and makes pools drop
// values at random, so allocations cannot be counted.
const Detector = false
