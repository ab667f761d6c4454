// Package page writes a single HTML file that shows a run: as a timeline and a tree of calls, as
// the conversation that a model saw, and as the state of the engine at any crossing. It also shows
// the results of a check of many traces, or of an exploration.
//
// The file is self-contained. It makes no network requests, which its content security policy
// forbids, and can be mailed and opened from disk. Of a trace it contains the lines, in one version
// of the format; of journals of sessions, the output of adkreplay show --json; and of a report, the
// document that the command prints as JSON. All of that is compressed twice (packed.go says why),
// as are the common style and script of all pages, without comments and indentation. A page has 57
// KB plus at most one and a half times the compressed trace. The scripts below assets compute
// everything else, in the order in which document.go lists them:
//
//   - trace.js reads lines and links them: calls, operations, rows, strands;
//   - state.js computes the state of the engine, as internal/state does;
//   - asks.js reads what models were asked and answered;
//   - words.js and dom.js put the results on the screen, as text and never as markup;
//   - the views: list.js, overview.js, crossing.js, states.js, conversation.js,
//     phases.js, reports.js, sessions.js, turn.js;
//   - watch.js reloads a page that is rewritten while its user works;
//   - app.js connects them.
//
// What the scripts know of kinds and collections comes from the table of package adk, which is
// included in the file. The tests in internal/browser compare the results of the scripts with what
// replay/transcript says of the same crossings.
package page
