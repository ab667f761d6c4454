// Package whatif runs a recorded turn again with some crossings answered differently, and says what
// today's engine makes of it.
//
//  1. An Override names a crossing, a field of it, and the new value: another result of a tool, an
//     error of a storage, a cancel before crossing 23. ParseOverride parses PATH=VALUE.
//  2. Run runs the turn again with overrides. Seams that Live chooses are user code; all other
//     seams do what was recorded, as far as the engine still asks them.
//  3. The Report says which overrides took effect, how the new run differs (package diff), what it
//     asked for that the recording does not have, and which scripted seams did as recorded although
//     they were asked or shown something else.
package whatif
