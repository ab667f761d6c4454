// Package page writes one HTML file in which a run can be looked at: as a timeline and a
// tree of calls, as the conversation that a model saw, as what the engine held at any
// crossing; and beside it what a check of many traces or an exploration found.
//
// The file stands alone. It asks nothing of any network, which its content security policy
// forbids, and can be mailed and opened from disk. What it holds of a trace are the lines
// of the trace, in one version of the format; of journals of sessions it is what adkreplay
// show --json prints of them, and of a report the document that the command prints as JSON. All
// of it is compressed twice (packed.go says why), as is the look of all pages, without comments
// and indentation: a page is 57 KB, and half as long again as the compressed trace at most.
// All else is made of these by the scripts below assets, in the order in which they are named
// in document.go:
//
//   - trace.js reads lines and links them: calls, operations, rows, strands;
//   - state.js works out what the engine held, as internal/state does;
//   - asks.js reads what models were asked and answered;
//   - words.js and dom.js put what they found on the screen, as text and never as markup;
//   - the views: list.js, overview.js, crossing.js, states.js, conversation.js,
//     phases.js, reports.js, sessions.js, turn.js;
//   - watch.js loads a page again that is written while one works;
//   - app.js joins them.
//
// What the scripts know of kinds and collections is the table of package adk, which is
// in the file as well. The tests in internal/browser hold what they work out against what
// replay/transcript says of the same crossings.
package page
