// Package whatif answers crossings of a recorded turn differently and says what today's
// engine makes of it.
//
//  1. An Override names a crossing and a field of it, and the value to put there: another
//     result of a tool, an error of a storage, a cancel before crossing 23.
//     ParseOverride reads PATH=VALUE.
//  2. Run runs the turn again with overrides. Seams that Live chooses are your code; all
//     others do what was recorded, as far as they are asked for it.
//  3. The Report says which overrides came to pass, in what the new run differs (package
//     diff), what it asked for that the recording does not hold, and which scripted seams
//     did as recorded although they were asked or shown something else.
package whatif
