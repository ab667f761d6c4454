// Package property says what holds for every turn, and looks for turns for which
// it does not: invariants over traces, generators of turns, an explorer that
// breaks a turn at every point, and a shrinker that makes of a failing turn the
// shortest one that still fails.
package property
