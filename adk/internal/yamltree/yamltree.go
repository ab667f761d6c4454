// Package yamltree reads YAML as trees that keep the order of keys.
package yamltree

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
)

// maxNodes is how many values a document may have. A value that an alias repeats counts each time.
const maxNodes = 200_000

// Read reads one document of YAML, nested at most maxDepth deep, as a tree of package jsontree with
// its keys in order. An empty text is null. Times stay texts, and a key that is not a text becomes
// one. The following are errors, which name their line: a key that occurs twice in a map, a second
// document, and more than 200,000 values, where values that aliases repeat count each time.
func Read(text string, maxDepth int) (value any, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			value, err = nil, errors.New("the document cannot be read")
		}
	}()
	if signs(text) > maxSigns {
		return nil, fmt.Errorf("more than %d signs of values", maxSigns)
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var document, more yaml.Node
	if err := decoder.Decode(&document); err == io.EOF {
		return nil, nil
	} else if err != nil {
		return nil, located(err)
	}
	if err := decoder.Decode(&more); err != io.EOF {
		if err == nil {
			err = fmt.Errorf("line %d: a second document, want one", more.Line)
		}
		return nil, located(err)
	}
	return (&reader{left: maxNodes, maxDepth: maxDepth}).value(&document, 0)
}

// located returns an error with its line. The library leaves the line out if it is the first.
func located(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if !strings.HasPrefix(text, "line ") {
		text = "line 1: " + text
	}
	return errors.New(text)
}

// maxSigns is how many signs of values a text may have. The library makes all values before they
// can be counted, and uses about 230 bytes for each.
const maxSigns = 250_000

// signs estimates the number of values of a text by the marks of lists and maps. A mark of a key,
// or one between a key and a value, counts as two values. Marks within texts count too.
func signs(text string) (n int) {
	for i := range len(text) {
		last := i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n' || text[i+1] == '\r' || text[i+1] == '\t'
		switch c := text[i]; {
		case c == '?' && last, c == ':' && (last || i > 0 && (text[i-1] == '"' || text[i-1] == '\'')):
			n += 2
		case c == ',' || c == '[' || c == '{' || c == '-' && last:
			n++
		}
	}
	return n
}

// reader makes a tree from nodes and counts them.
type reader struct{ left, maxDepth int }

func (r *reader) value(n *yaml.Node, depth int) (any, error) {
	if r.left--; r.left < 0 {
		return nil, fmt.Errorf("line %d: more than %d values, aliases counted each time", n.Line, maxNodes)
	}
	if depth > r.maxDepth {
		return nil, fmt.Errorf("line %d: nested more than %d deep", n.Line, r.maxDepth)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return r.value(n.Content[0], depth)
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			var err error
			if list[i], err = r.value(item, depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case yaml.MappingNode:
		o := &jsontree.Object{}
		return o, r.mapping(o, n, depth)
	}
	return scalar(n)
}

// mapping reads the pairs of a map. The pairs that it merges come after its own.
func (r *reader) mapping(o *jsontree.Object, n *yaml.Node, depth int) error {
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].ShortTag() == "!!merge" {
			merged = append(merged, n.Content[i+1])
			continue
		}
		key, err := r.key(n.Content[i], depth)
		if err != nil {
			return err
		}
		if _, has := o.Get(key); has {
			return fmt.Errorf("line %d: the key %.40q is there twice", n.Content[i].Line, key)
		}
		value, err := r.value(n.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		o.Set(key, value)
	}
	for _, m := range merged {
		if err := r.merge(o, m, depth); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) merge(o *jsontree.Object, n *yaml.Node, depth int) error {
	value, err := r.value(n, depth+1)
	if err != nil {
		return err
	}
	sources, isList := value.([]any)
	if !isList {
		sources = []any{value}
	}
	for _, source := range sources {
		object, ok := source.(*jsontree.Object)
		if !ok {
			return fmt.Errorf("line %d: a merge of what is no map", n.Line)
		}
		for key, value := range object.All() {
			if _, has := o.Get(key); !has {
				o.Set(key, value)
			}
		}
	}
	return nil
}

func (r *reader) key(n *yaml.Node, depth int) (string, error) {
	if n.Kind == yaml.ScalarNode {
		return n.Value, nil
	}
	value, err := r.value(n, depth+1)
	if err != nil {
		return "", err
	}
	return jsontree.Bare(value), nil
}

func scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return b, err
	case "!!int", "!!float":
		if number, ok := jsontree.ReadNumber(n.Value); ok {
			return number, nil
		}
		var f float64
		if err := n.Decode(&f); err != nil {
			return n.Value, nil
		}
		return f, nil
	}
	return n.Value, nil // including times
}
