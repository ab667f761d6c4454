// Package scenarios holds the named turns that explain the engine. Each is a
// small value that says what user code does and what must come of it; its
// transcript is the explanation, and its trace is a fixture.
//
//  1. [All] lists them, and [Named] finds one.
//  2. [Scenario.Run] runs it as every run of it is, observed by any probe, and
//     says what did not happen that must ([Ending]).
//  3. [Sessions] and [SessionNamed] are the same for sessions of several turns
//     and hosts ([Session]).
//
// Package fixtures has what they recorded, and adkreplay run shows one.
package scenarios
