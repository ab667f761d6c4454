// Package livetest has agents as users write them, for tests that run recorded turns
// again on changed code.
package livetest
