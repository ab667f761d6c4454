//go:build race

package large

// RaceDetector says that the race detector watches this program: it allocates for itself,
// and has pools lose what they hold, so that Allocated tells nothing.
const RaceDetector = true
