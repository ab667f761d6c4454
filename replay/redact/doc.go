// Package redact keeps secrets out of traces. It removes them before anything is written, and does
// not change the turn itself.
//
//  1. Rules say what is a secret: Paths by the names that lead to a field, and Patterns by what a
//     text looks like. UsualSecrets returns rules to begin with.
//  2. RecordOptions.Redact gives rules to a recorder. From the moment when a path finds a secret,
//     the recorder looks for it everywhere in the run, even where it is split over the deltas of a
//     stream.
//  3. A placeholder such as [redacted:key:1] replaces a secret. It is the same wherever the secret
//     occurs, so a redacted trace can be replayed.
package redact
