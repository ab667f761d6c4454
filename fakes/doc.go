// Package fakes is everything around a turn that a test scripts: an executor
// that plays a script, storage that remembers and fails on demand, a clock that
// only moves when told, ids that count, a scheduler that runs strands one at a
// time, an approver of gates, tools with canned answers, and a model provider
// behind HTTP. Nothing here waits for real time.
//
// Deterministic turns a config into one whose run makes the same crossings
// every time; Script.Executor is where a test usually begins.
package fakes
