// Package race says whether a program was built with the race detector.
package race
