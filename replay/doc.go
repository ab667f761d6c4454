// Package replay records turns and runs them again on today's code.
//
// A turn is recorded as a trace: every crossing between the engine and user code, in
// order. A replay makes the turn again. Seams that are scripted do what was recorded;
// seams that are live are your code of today. Where the new run does something else, the
// report names the first crossing at which it parts from the recording, and why.
//
//	var trace bytes.Buffer
//	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace)))
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "You are a helpful assistant."}); err != nil {
//		log.Fatal(err)
//	}
//	report, err := replay.Verify(context.Background(), &trace, replay.Live{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println(report.Crossings, "crossings, diverged:", report.Divergence != nil)
//
// In go test all of it is one line: golden.Replay in package replay/golden.
//
//  1. Record gives the probe for adk.Config.Probe that writes one trace; RecordEach
//     opens a file for each run, in production: behind a queue, with a size cap,
//     sampling and redaction (RecordOptions).
//  2. Verify runs a trace again. Without live seams it holds the engine against the
//     recording, crossing by crossing; that needs no code of yours and is what
//     adkreplay verify does.
//  3. A Live chooses which seams are your code: Prompt, Stash, Tools, Middleware, Executor,
//     ToolCode, Storage, Gates or Everything. Then what your code asks of the engine is
//     compared by cause and arguments, ids that it makes anew are renamed, and what it
//     asks for without a recorded answer gets ErrUnanswered.
//  4. The Report has a Divergence, or none. Its Class says what kind of difference it
//     is, its Fields in which values, its Place where in your code, and After what else
//     follows from it. String is written to be read on one screen.
//  5. Rerecord writes the trace of the new run, for a change that was meant.
//
// Read on in replay/trace for the file, replay/transcript to read a run, replay/diff to
// compare two traces, replay/whatif to answer one crossing differently, replay/corpus for
// many traces at once, and replay/redact to keep secrets out.
//
// # Goroutines of your own
//
// What goroutines that your code began itself did at once, through one handle, is made again as
// it was where no seam is live. Where they are live code:
//
//   - They are held to no order, be it tools, requests or sub-agents; nor are tools and requests
//     that were open at once in the recording, and come one by one today.
//   - What they hear comes in the recorded order: an answer, a time or the end of a sleep each,
//     when all of them have come to rest from the one before.
//   - An id that one of them makes is the recorded one. Where several make one at once it is not known
//     whose is whose: what each does with its own shows for which it stands.
//   - Who was first at a lock, or at the clock, where two of them came at the same moment, no
//     crossing tells, and there a replay may do otherwise. Give results back and keep them behind
//     the goroutines, or begin strands (adk.TurnContext.Fork), whose order is that of the recording.
//   - What goroutines had begun when the caller left is chance, and the report of a difference
//     there says so.
//   - What they draw at random, as the jitter of a backoff, is another each time: draw it with
//     adk.Ask, so that the recording has it, or from a source that tests fix, as an exploration
//     needs.
package replay

// File by file: without live seams player walks along the recording with one cursor (player.go)
// and stops at the first difference; with live ones bycause.Run makes the run (rerun.go),
// comparison holds it against the recording (comparison.go), and explain makes a Divergence of the
// first difference (explain.go). Both kinds of run perform what was recorded through stub.Stage; report.go says
// it to a person.
