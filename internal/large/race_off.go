//go:build !race

package large

// RaceDetector says that no race detector watches this program.
const RaceDetector = false
