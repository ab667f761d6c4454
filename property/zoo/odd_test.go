package zoo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/turn"
)

// odd are the families of bugs around unexpected input from users and unexpected results of tools.
var odd = []family{
	{"a question taken for a template", false, func(broken bool) turn.Instance {
		asked, said := "", ""
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			all := dc.Messages().All()
			asked = all[len(all)-1].Content().String()
			source := "You asked: {{.}}"
			if broken {
				source = "You asked: " + asked
			}
			form, err := template.New("answer").Parse(source)
			if err != nil {
				return err
			}
			var answer strings.Builder
			if err := form.Execute(&answer, asked); err != nil {
				return err
			}
			said = answer.String()
			if err := say(ctx, dc, h, "m0", said); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			if said != "" && said != "You asked: "+asked {
				return fmt.Errorf("asked %q, it says %q", asked, said)
			}
			return nil
		}
		return i
	}},
	{"a system prompt taken for a form", true, func(broken bool) turn.Instance {
		asked := ""
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			prompt := dc.SystemPrompt().String() + fmt.Sprintf(" You are in %s.", "Oslo")
			if broken {
				prompt = fmt.Sprintf(dc.SystemPrompt().String()+" You are in %s.", "Oslo")
			}
			answer, err := adk.Ask(ctx, "model", prompt, func(context.Context, string) (string, error) { return "It rains.", nil }, adk.AskOptions{})
			if err != nil {
				return err
			}
			asked = prompt
			if !strings.HasPrefix(prompt, dc.SystemPrompt().String()) {
				asked = "something else: " + prompt
			}
			if err := say(ctx, dc, h, "m0", answer); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			if strings.HasPrefix(asked, "something else") {
				return fmt.Errorf("the model is told %q", asked)
			}
			return nil
		}
		return i
	}},
	{"the first word of nothing", true, func(broken bool) turn.Instance {
		look := tool("look", adk.EffectReads, func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("4 degrees in Oslo"), nil
		})
		return agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			result, err := dc.Execute(ctx, look, map[string]any{"city": "Oslo"})
			if err != nil {
				return err
			}
			words := strings.Fields(result.(*adk.Tokenizable).String())
			if !broken && len(words) == 0 {
				return dc.Nack(errors.New("nothing is known of the weather"))
			}
			if err := say(ctx, dc, h, "m0", words[0]+" degrees"); err != nil {
				return err
			}
			return dc.Ack()
		}, look)
	}},
	{"a page that fills the prompt", false, func(broken bool) turn.Instance {
		const room = 10_000
		asked := ""
		fetch := tool("fetch", adk.EffectReads, func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("Open from nine to five."), nil
		})
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			result, err := dc.Execute(ctx, fetch, map[string]any{"page": "hours"})
			if err != nil {
				return err
			}
			page := []rune(result.(*adk.Tokenizable).String())
			if !broken && len(page) > room/4 {
				page = append(page[:room/4], []rune(" [cut]")...)
			}
			asked = "Of this page, when is it open?\n" + string(page)
			answer, err := adk.Ask(ctx, "model", asked, func(context.Context, string) (string, error) { return "At nine.", nil })
			if err != nil {
				return err
			}
			if err := say(ctx, dc, h, "m0", answer); err != nil {
				return err
			}
			return dc.Ack()
		}, fetch)
		i.Check = func(turn.Run) error {
			if len(asked) > room {
				return fmt.Errorf("the model is asked %d bytes, and has room for %d", len(asked), room)
			}
			return nil
		}
		return i
	}},
}
