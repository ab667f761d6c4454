// Package explore breaks a turn at every point, and says what then no longer holds.
//
//  1. Give Explore a turn.Subject: a function that makes the config and the raw turn of
//     one run, the same each time.
//  2. It runs the subject as it is, and then with a fault at each crossing, in each
//     order of its strands and, with Options.Bound, in pairs of these; every run is held
//     against the invariants of package property and against Options.Check.
//  3. The Exploration lists what broke, each Breach with its schedule and the lines that
//     show it; Reproduce runs one schedule again.
//
// Read on in package shrink, which makes what was found short.
package explore
