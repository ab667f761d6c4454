//go:build race

package race

// Detector says that the race detector watches this program: it allocates for itself, and
// has pools lose what they hold at random, so that allocations cannot be counted.
const Detector = true
