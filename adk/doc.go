// Package adk runs one turn of an agent: it loads context, asks a decision maker, runs the tools
// that it asks for, and repeats until the turn is done. The engine reports everything that passes
// between it and user code, so that a turn can be recorded and run again.
//
//	model := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
//		if _, err := h.ReportMessage(dc.NewID(), "It is 4 °C in Oslo.", true); err != nil {
//			return err
//		}
//		return dc.Ack()
//	}
//	runner, err := adk.NewRunner(adk.Config{
//		Executor: adk.Executor{Name: "model", Run: model},
//		Storage:  fakes.NewStorage().Storage(),
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//	runner.On(adk.Functional{Message: func(e adk.MessageEvent) { fmt.Println(e.Full) }})
//	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Be brief."}); err != nil {
//		log.Fatal(err)
//	}
//
// A [Config] needs an executor and a [Storage]. Package chat has an executor for servers that speak
// Chat Completions; package storage keeps records in files and databases. An executor returns no
// answer. It reports what the model says, runs tools and keeps records, and it has to ack or nack
// the dispatch; otherwise the engine calls it again. Listeners registered with [Runner.On] hear
// what an agent says and does. Listeners registered with [Runner.Observe] hear how the turn goes,
// including its failures.
//
// # The words
//
// A turn is one call of [Runner.Run]: a user said something, and the agent answers. The dispatch is
// the loop around the decision maker, the [Executor]; one round of the loop is an iteration. A
// middleware wraps whatever comes after it in one of four pipelines ([TurnMiddleware],
// [DispatchMiddleware]). User code calls the engine through a [TurnContext] or a [DispatchContext].
// Both hold sets of records ([Records]), tools ([ToolSet]) and a [Stash]. A dispatch ends when user
// code acks it or nacks it, or when the turn is aborted. A gate ([Gate]) is a point at which a turn
// waits for somebody outside. A [Tool] is something that the model can ask for.
//
// An ask ([Ask], [AskStream]) is a question that user code puts to a model's server or to any other
// service. Package adkhttp turns the requests of any HTTP client into asks.
//
// A seam is a place where engine and user code meet. A crossing is one thing that passes there. A
// strand is parallel work inside one seam call. A state is the digest of everything that is visible
// at one point. See [Seam], [Crossing], [Strand] and [StateDigest].
//
// # One turn
//
//  1. [Runner.Run] validates the raw turn and reports the first crossing.
//  2. The turn begins ([TurnStart]). Whatever happens from here on, the last state
//     and [TurnEnd] are reported.
//  3. The turn input pipeline runs: each [TurnMiddleware] runs, and through its [Next] those
//     after it. A failure is reported when all post-steps have run, and ends the turn.
//  4. The dispatch gets a copy of what is visible, and runs iterations until one ends it.
//  5. One iteration is the dispatch input pipeline, the state, the executor, the dispatch
//     output pipeline, and [IterationEnd], which also flushes what was stored. Between
//     any two of these steps a signal, a failure or an abort leaves the loop.
//  6. The executor streams with [Helpers], runs tools with [DispatchContext.Execute], and
//     keeps records with [Records.Store], which calls the storage at once and queues the
//     change for the turn. [DispatchContext.Ack] runs the on-ack handlers and ends the
//     dispatch.
//  7. After an ack the queue is flushed to the turn; otherwise it is dropped. [DispatchEnd]
//     has the status.
//  8. After an ack, the turn output pipeline runs like the input pipeline.
//
// # What runs concurrently
//
// The goroutine that called Run runs everything except strands ([DispatchContext.Fork]). The engine
// calls no user code while it holds a lock, except for the clock, the id source and the observer's
// Tell.
//
// # Determinism
//
// Time and ids come from the config ([Clock], [IDSource]). The bytes of media come through
// [Handle.OpenMedia]. Code that has a context but no handle uses [Now], [NewID] and [Sleep];
// outside of a turn these use the machine's clock and ids.
//
// A turn makes the same crossings in the same order on every machine, given the same config, raw
// turn, clock, ids and results of user code, if its strands run one at a time. User code may start
// goroutines itself, but this promise does not cover them.
//
// # Failure
//
// There is one error type, [Error], with a stable [Code]. Run returns an error only if the turn
// could not begin. Once a turn has begun Run returns nil, and each failure is one [ErrorEvent] on
// the observability bus. An abort is never an ErrorEvent.
//
// # What to read next
//
// The examples show a turn. [Kinds] and [Kind.Fields] describe what crosses. Package fakes has
// scripted executors and recording storage for tests. Package replay records turns and runs them
// again.
package adk
