// Package livetest provides agents such as users write, for tests that replay recorded turns on
// changed code.
package livetest
