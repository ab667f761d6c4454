// Package redact keeps secrets out of traces. It takes them out before anything is
// written: of the turn itself nothing changes.
//
//  1. Rules say what is a secret: Paths, by the names on the way to a field, and
//     Patterns, by what a text looks like. UsualSecrets are rules to begin with.
//  2. A recorder is given them as RecordOptions.Redact. What a path finds once is looked
//     for everywhere in the run from then on, also where it is cut over the deltas of a
//     stream.
//  3. A placeholder such as [redacted:key:1] stands in the place of a secret, the same
//     one wherever it was, so that a redacted trace replays.
package redact
