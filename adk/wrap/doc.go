// Package wrap makes a turn of an agent that there is already, whatever it is made with:
// langchaingo, genkit, eino, Google's ADK, the tool runner of an SDK, or a loop of its own. All that
// it has to be is a function that is asked something and answers.
//
//	client := &http.Client{Transport: adkhttp.NewTransport(nil)} // what the agent asks with
//	desk := wrap.Agent{Name: "desk", Answer: newDesk(client).Answer}
//
//	answer, err := desk.Ask(ctx, "Where is order 17?", replay.Record(file))  // in production: a recorded turn
//
//	golden.Replay(t, "testdata/turns", func(string) replay.Live {            // in a test of it
//		config, turn := desk.Turn("")
//		return replay.Live{Config: config, Turn: turn, Seams: []string{replay.Executor}}
//	})
//
// What crosses is what the agent asks of the world with the context that it is given: over HTTP with
// a client on adkhttp.NewTransport, all else through adk.Ask. Time, ids and waits are recorded where
// they come from adk.Now, adk.NewID and adk.Sleep. Its own prompts, tools and memory are its own:
// they are seen as far as its model and its services are asked about them.
package wrap
