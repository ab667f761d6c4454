package zoo_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/turn"
)

// subagents are the families of bugs in agents that delegate work to sub-agents.
var subagents = []family{
	{"a sub-agent that failed, and was not asked how it ended", true, func(broken bool) turn.Instance {
		return delegating("What is tea?", func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			found, err := research(ctx, dc, fmt.Sprint(args["topic"]))
			if err != nil && !broken {
				return nil, err
			}
			return adk.Text("Findings: " + found), nil
		})
	}},
	{"sub-agents whose failures are dropped from the list", true, func(broken bool) turn.Instance {
		return delegating("What are tea and milk?", func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			var all []string
			for topic := range strings.SplitSeq(fmt.Sprint(args["topic"]), " and ") {
				found, err := research(ctx, dc, topic)
				switch {
				case err == nil:
					all = append(all, found)
				case !broken:
					all = append(all, topic+": nothing is known, "+err.Error())
				}
			}
			return adk.Text(strings.Join(all, "\n")), nil
		})
	}},
	{"a sub-agent that is asked again, with what it has done", false, func(broken bool) turn.Instance {
		mails := 0
		i := delegating("Write to Ada.", func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			sent := false
			work := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				if broken || !sent {
					mails++
					sent = true
				}
				if _, err := dc.Memories().Fetch(ctx); err != nil {
					return err
				}
				return dc.Ack()
			}
			for again := range 2 {
				if _, err := adk.Dispatch(ctx, adk.DispatchInput{Name: "writer", Source: dc, Executor: adk.Executor{Name: "writer", Run: work}}); err == nil {
					break
				} else if again > 0 {
					return nil, err
				}
			}
			return adk.Text("Sent."), nil
		})
		i.Check = func(turn.Run) error {
			if mails > 1 {
				return fmt.Errorf("%d mails", mails)
			}
			return nil
		}
		return i
	}},
}

// delegating returns an agent whose tool, run by handler, delegates the work on topic to sub-agents.
func delegating(topic string, handler handles) turn.Instance {
	i := agent(conversation(topic), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		delegate, _ := dc.Tools().Get("delegate")
		result, err := dc.Execute(ctx, delegate, map[string]any{"topic": topic})
		text := "I could not find out: "
		if err == nil {
			text = fmt.Sprint("Here it is. ", result)
		} else {
			text += err.Error()
		}
		if err := say(ctx, dc, h, dc.NewID(), text); err != nil {
			return err
		}
		return dc.Ack()
	}, tool("delegate", adk.EffectReads, handler))
	i.Check = func(run turn.Run) error { return hearsOfFailures(run) }
	return i
}

// hearsOfFailures fails if a sub-agent fails and the messages to the user do not say that anything is missing.
func hearsOfFailures(run turn.Run) error {
	failed, text := "", ""
	for x := range run.Crossings {
		switch {
		case x.Kind == adk.KindReturn && x.Err != nil && x.Outcome == adk.OutcomeError && strings.HasPrefix(x.Seam.String(), "dispatch/"):
			failed = x.Err.Error()
		case x.Kind == adk.KindReportMessage:
			text += x.Text
		}
	}
	if failed != "" && text != "" && !strings.Contains(text, "could not") && !strings.Contains(text, "nothing is known") {
		return fmt.Errorf("%s, and the user reads %q", failed, text)
	}
	return nil
}

// research dispatches a sub-agent that asks a model about topic, and returns the answer.
func research(ctx context.Context, dc *adk.DispatchContext, topic string) (found string, err error) {
	_, err = adk.Dispatch(ctx, adk.DispatchInput{Name: "researcher", Source: dc, Executor: adk.Executor{Name: "researcher", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		said, err := adk.Ask(ctx, "model", topic, func(_ context.Context, about string) (string, error) {
			return about + " is a drink", nil
		})
		if err != nil {
			return err
		}
		found = said
		return dc.Ack()
	}}})
	return found, err
}
