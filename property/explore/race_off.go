//go:build !race

package explore

// raceDetector says that the race detector watches this program.
const raceDetector = false
