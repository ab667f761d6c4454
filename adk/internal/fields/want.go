package fields

import (
	"encoding/json"

	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/stash"
)

// Want records a fault unless ok. message says what is wrong and what would be right, without a
// value.
func (c *Check) Want(ok bool, field, message string) {
	if !ok {
		c.Fault(field, "%s", message)
	}
}

// Failed records a fault if err is not nil; format formats err.
func (c *Check) Failed(field, format string, err error) {
	if err != nil {
		c.Fault(field, format, err)
	}
}

// Plain checks that a value is plain data. The fault names the places that are not.
func (c *Check) Plain(field string, v any) {
	if fault := plain.Fault(v); fault != "" {
		c.Fault(field, "%s, want plain data", fault)
	}
}

// Tree checks the nested tree with which a stash begins.
func (c *Check) Tree(field string, tree map[string]any) {
	c.Failed(field, "is no tree: %s", stash.Check(tree))
}

// Object checks arguments: an object, or the JSON text of one. It returns them as JSON data that
// the caller owns. The caller handles *Arguments of package adk itself; the message names them too.
func (c *Check) Object(field string, args any) map[string]any {
	switch args := args.(type) {
	case nil:
		c.Fault(field, "is missing, want an object or its JSON text, {} for no arguments")
	case map[string]any:
		pure, err := canonical.Normalize(args)
		if err == nil {
			return pure.(map[string]any)
		}
		c.Fault(field, "cannot be written as JSON (%v), want an object of JSON data", err)
	case string:
		return c.objectText(field, []byte(args))
	case []byte:
		return c.objectText(field, args)
	case json.RawMessage:
		return c.objectText(field, args)
	default:
		c.Fault(field, "is of the type %T, want map[string]any, JSON text or *Arguments", args)
	}
	return nil
}

func (c *Check) objectText(field string, text []byte) map[string]any {
	args, err := canonical.ParseObject(text)
	c.Failed(field, "is no JSON text of an object (%v), want one, {} for no arguments", err)
	return args
}

// Prompt checks a system prompt.
func (c *Check) Prompt(field, text string) {
	if text == "" {
		c.Fault(field, "is empty: give one")
	} else if fault := textFault(text); fault != "" {
		c.Fault(field, "%s", fault)
	}
}

// Instructions checks the texts of standing instructions.
func (c *Check) Instructions(field string, texts []string) {
	EachOnce(c, field, texts, func(text string) (key, fault string) { return text, InstructionFault(text) },
		"is the text of %[2]s[%[3]d] again: each text once")
}

// InstructionFault says what is wrong with the text of a standing instruction, or returns "".
func InstructionFault(text string) string {
	if text == "" {
		return "is empty"
	}
	return textFault(text)
}
