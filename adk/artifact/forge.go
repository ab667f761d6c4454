package artifact

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/internal/forging"
)

// Forge makes the tools with which a model can ask the dispatch's artifacts (FRG-1 to FRG-4): those
// of every tool call whose result is one artifact and that no forged tool made; with
// Config.HandlesOnly, only of calls that are not inline. Without such a call, the registry is
// empty. Forge looks at the tool calls once; call it again before every call of the model, since
// the tools do not know later tool calls (FRG-8). A wrong config is E_INVALID_ARTIFACT_CONFIG.
//
// Merge the registry with the dispatch's own tools for one call of the model (adk.MergeRegistries),
// or Install it (FRG-9).
func Forge(dc *adk.DispatchContext, config Config) (*adk.Registry, error) {
	if dc == nil {
		return nil, errors.New("artifact: Forge has no dispatch context, want the one that the executor was called with")
	}
	flavours, err := config.flavours()
	if err != nil {
		return nil, err
	}
	var ids []string
	byFlavour := map[string][]string{}
	for _, call := range dc.ToolCalls().All() {
		if mark, eligible := eligible(call); eligible && !(config.HandlesOnly && call.Inline()) {
			ids = append(ids, call.ID())
			byFlavour[mark.Flavour] = append(byFlavour[mark.Flavour], call.ID())
		}
	}
	forged := &adk.Registry{}
	if len(ids) == 0 {
		return forged, nil
	}
	if err := config.forge(forged, Flavour{Methods: baseMethods()}, ids); err != nil {
		return nil, err
	}
	for _, flavour := range flavours {
		if ids := byFlavour[flavour.Name]; len(ids) > 0 {
			if err := config.forge(forged, flavour, ids); err != nil {
				return nil, err
			}
		}
	}
	return forged, nil
}

// eligible returns the mark of the one artifact that is a call's result.
func eligible(call *adk.ToolCall) (Mark, bool) {
	media, single := call.Results().(*adk.Media)
	if call.FromArtifactTool() || !single {
		return Mark{}, false
	}
	return Of(media)
}

func (c Config) prefix() string { return cmp.Or(c.Prefix, "artifact") }

// flavours returns the config's flavours, or an error with every fault of the config (ART-20).
func (c Config) flavours() ([]Flavour, error) {
	if faults := c.Faults(); len(faults) > 0 {
		texts := make([]string, len(faults))
		for i, f := range faults {
			texts[i] = f.Path + ": " + f.Message
		}
		return nil, &adk.Error{Code: adk.E_INVALID_ARTIFACT_CONFIG, Message: strings.Join(texts, "; "), Faults: faults}
	}
	if c.Flavours == nil {
		return []Flavour{TextFlavour, JSONFlavour, MarkdownFlavour}, nil
	}
	return c.Flavours, nil
}

// Faults returns all that is wrong with the config, by the names of its fields, or nil (ART-20).
func (c Config) Faults() (faults []adk.Fault) {
	if c.Flavours == nil && c.MaxResult >= 0 && c.RecordLimit >= 0 {
		return nil
	}
	fault := func(field, format string, args ...any) {
		faults = append(faults, adk.Fault{Path: field, Message: fmt.Sprintf(format, args...)})
	}
	if c.MaxResult < 0 {
		fault("MaxResult", "is %d, want 0 or more bytes", c.MaxResult)
	}
	if c.RecordLimit < 0 {
		fault("RecordLimit", "is %d, want 0 or more bytes", c.RecordLimit)
	}
	names, tools := map[string]bool{}, map[string]bool{}
	for _, m := range baseMethods() {
		tools[m.Tool] = true
	}
	for i, f := range c.Flavours {
		field := fmt.Sprintf("Flavours[%d]", i)
		if f.Name == "" || f.Title == "" || f.MIMEType == "" || f.Ext == "" {
			fault(field, "want a name, a title, a MIME type and an extension")
		}
		if names[f.Name] {
			fault(field, "the name %.40q comes twice", f.Name)
		}
		names[f.Name] = true
		for j, m := range f.Methods {
			c.checkMethod(fmt.Sprintf("%s.Methods[%d]", field, j), m, tools, fault)
		}
	}
	return faults
}

func (c Config) checkMethod(field string, m Method, tools map[string]bool, fault func(field, format string, args ...any)) {
	if m.Tool == "" || m.Description == "" || m.Run == nil {
		fault(field, "want a tool's name, a description and a function")
	}
	if tools[m.Tool] {
		fault(field, "the tool %.40q comes twice", m.Tool)
	}
	tools[m.Tool] = true
	if _, err := forgedSchema(m.Args, nil); err != nil {
		fault(field, "%s", err)
	}
}

// forgedSchema returns the schema of a method's arguments, with callId added for the calls that can
// be asked (FRG-3).
func forgedSchema(args json.RawMessage, ids []string) (json.RawMessage, error) {
	if len(args) == 0 {
		args = json.RawMessage(noArgs)
	}
	tree, err := jsontree.Parse(string(args), maxDocumentDepth)
	schema, ok := tree.(*jsontree.Object)
	if err != nil || !ok {
		return nil, errors.New("the schema of the arguments is no JSON object")
	}
	given, _ := schema.Get("properties")
	properties, _ := given.(*jsontree.Object)
	if properties != nil {
		if _, taken := properties.Get(forging.CallID); taken {
			return nil, errors.New("callId is an argument of every forged tool, and none of a method's own")
		}
	}
	all := jsontree.NewObject(member(forging.CallID, jsontree.NewObject(
		member("type", "string"), member("enum", textList(ids)), member("description", "the id of the tool call whose artifact is asked"))))
	if properties != nil {
		for name, property := range properties.All() {
			all.Set(name, property)
		}
	}
	required := []any{forging.CallID}
	if more, _ := schema.Get("required"); more != nil {
		list, _ := more.([]any)
		required = append(required, list...)
	}
	whole := &jsontree.Object{}
	for key, value := range schema.All() {
		whole.Set(key, value)
	}
	whole.Set("properties", all)
	whole.Set("required", required)
	return jsontree.Append(nil, whole), nil
}

func textList(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// forge makes a tool for each method of a flavour. The flavour without a name has the methods of
// all bodies.
func (c Config) forge(into *adk.Registry, flavour Flavour, ids []string) error {
	for _, method := range flavour.Methods {
		tool, err := described(c.offer(method), method.Args, ids)
		if err != nil {
			return &adk.Error{Code: adk.E_INVALID_ARTIFACT_CONFIG, Message: fmt.Sprintf("the method %.40q makes no tool", method.Tool), Cause: err}
		}
		if err := into.Register(tool.WithHandler(c.handler(flavour, method))); err != nil {
			return err
		}
	}
	return nil
}

// Offer is a forged tool, as a model reads it.
type Offer struct{ Name, Description string }

func (c Config) offer(method Method) Offer {
	return Offer{c.prefix() + "_" + method.Tool, method.Description + " Works on an artifact that an earlier tool call of this turn made; callId selects it."}
}

// Offers returns what a prompt shows in the place of a body: the title of its flavour, and the
// tools that Forge makes for such an artifact, in that order. A flavour that the config does not
// know has the base tools, and its name as the title. A wrong config is E_INVALID_ARTIFACT_CONFIG.
func (c Config) Offers(flavour string) (title string, offers []Offer, err error) {
	flavours, err := c.flavours()
	if err != nil {
		return "", nil, err
	}
	title, methods := flavour, baseMethods()
	for _, known := range flavours {
		if known.Name == flavour {
			title, methods = known.Title, append(methods, known.Methods...)
		}
	}
	for _, method := range methods {
		offers = append(offers, c.offer(method))
	}
	return title, offers, nil
}

// descriptions caches forged tools without their handlers. Making and compiling a schema is most of
// the work of forging, and a turn forges the same tools again and again.
var descriptions = struct {
	sync.Mutex
	tools map[string]*adk.Tool
}{tools: map[string]*adk.Tool{}}

// maxDescriptions is the greatest size of the cache; then it is cleared.
const maxDescriptions = 1024

// described returns a forged tool without a real handler, for the arguments of a method and the
// calls that can be asked (FRG-3).
func described(offer Offer, args json.RawMessage, ids []string) (*adk.Tool, error) {
	key := fmt.Sprintf("%q %q %q %q", offer.Name, offer.Description, args, ids)
	descriptions.Lock()
	tool, met := descriptions.tools[key]
	descriptions.Unlock()
	if met { // a missing one is made without holding the lock
		return tool, nil
	}
	schema, err := forgedSchema(args, ids)
	if err != nil {
		return nil, err
	}
	tool, err = newTool(adk.ToolInit{
		Name: offer.Name, Description: offer.Description, InputSchema: schema, Ephemeral: true, OnCollision: adk.CollisionReplace, Effect: adk.EffectReads,
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return nil, errNoHandler
		},
	}, map[string]any{"tool": true, "forged": true})
	if err != nil {
		return nil, err
	}
	descriptions.Lock()
	defer descriptions.Unlock()
	if len(descriptions.tools) >= maxDescriptions {
		clear(descriptions.tools)
	}
	descriptions.tools[key] = tool
	return tool, nil
}

var errNoHandler = errors.New("the tool was described, and not forged")

// handler returns a handler that finds the call in the context in which it runs, and asks the
// question (FRG-6).
func (c Config) handler(flavour Flavour, method Method) adk.ToolHandler {
	return func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		id := textAt(args, forging.CallID)
		call, found := dc.ToolCalls().Get(id)
		if !found {
			return adk.Text(fmt.Sprintf("Error: no tool call with id %s in this turn", id)), nil
		}
		mark, fits := eligible(call)
		if !fits || flavour.Name != "" && mark.Flavour != flavour.Name {
			title := cmp.Or(flavour.Title, "artifact")
			return adk.Text(fmt.Sprintf("Error: the results of call %s are no %s", id, title)), nil
		}
		a, err := Open(dc, call.Results().(*adk.Media), c)
		if err != nil {
			return nil, err
		}
		own := map[string]any{}
		for name, value := range args {
			if name != forging.CallID {
				own[name] = value
			}
		}
		answer, err := a.answer(ctx, method, own)
		if err != nil {
			return nil, err
		}
		text, err := rendered(answer)
		if err != nil {
			return nil, a.named(err)
		}
		return adk.Text(cut(text, c.MaxResult)), nil
	}
}

// cut shortens an answer to the whole lines that fit into most bytes, or to the runes of its first
// line, and says so (FRG-11).
func cut(text string, most int) string {
	if most <= 0 || len(text) <= most {
		return text
	}
	at := strings.LastIndexByte(text[:most+1], '\n')
	if at <= 0 {
		for at = most; at > 0 && !utf8.RuneStart(text[at]); at-- {
		}
	}
	kept := text[:at]
	return fmt.Sprintf("%s\n(cut: %d of %d bytes; ask for less)", kept, len(kept), len(text))
}

// Install puts forged tools into the dispatch's registry (FRG-9). It replaces tools of the same
// names, removes those that were installed before and are no longer forged, and leaves equal ones
// as they are, so that nothing crosses if nothing changed. The tools are removed when the dispatch
// is acked.
func Install(dc *adk.DispatchContext, forged *adk.Registry) error {
	if dc == nil || forged == nil {
		return errors.New("artifact: Install has no dispatch context or no registry, want what Forge was called with and what it gave")
	}
	tools, installed := dc.Tools(), false
	for _, tool := range tools.All() {
		if forging.IsForged(tool) {
			installed = true
			if !forged.Has(tool.Name()) {
				if _, err := tools.Unregister(tool.Name()); err != nil {
					return err
				}
			}
		}
	}
	for _, tool := range forged.All() {
		place := tools.Register
		if there, has := tools.Get(tool.Name()); has && there.Digest() == tool.Digest() {
			continue
		} else if has {
			place = tools.Replace
		}
		if err := place(tool); err != nil {
			return err
		}
	}
	if installed || forged.Len() == 0 {
		return nil
	}
	_, err := tools.Bind()
	return err
}
