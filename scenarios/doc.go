// Package scenarios holds the named turns that explain the engine. Each is a small value that says
// what user code does and how the turn must end. Its transcript is the explanation, and its trace
// is a fixture.
//
//  1. [All] returns all scenarios, and [Named] finds one.
//  2. [Scenario.Run] runs a scenario, which gives the same crossings every time, observed by any
//     probe. Its error says how the turn did not end as it must ([Ending]).
//  3. [Sessions] and [SessionNamed] are the same for sessions of several turns and hosts
//     ([Session]).
//
// Package fixtures holds the recorded traces, and adkreplay run shows a scenario.
package scenarios
