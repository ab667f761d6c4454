package spec

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
)

// JSON parses the text of an argument.
func JSON(text string) (any, error) {
	value, err := jsontree.Parse(text, MaxDepth)
	if err != nil {
		return nil, fmt.Errorf("Invalid JSON: %w", err)
	}
	return value, nil
}

// List parses the text of an argument that has to be a list.
func List(text string) ([]any, error) {
	value, err := JSON(text)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("want a JSON list such as [1, 2, 3]")
	}
	if len(list) > MaxList {
		return nil, fmt.Errorf("a list of %d items, want at most %d", len(list), MaxList)
	}
	return list, nil
}

// Object parses the text of an argument that has to be an object.
func Object(text string) (*jsontree.Object, error) {
	value, err := JSON(text)
	if err != nil {
		return nil, err
	}
	object, ok := value.(*jsontree.Object)
	if !ok {
		return nil, fmt.Errorf("must be a JSON object")
	}
	return object, nil
}
