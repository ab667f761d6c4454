package adk

// DispatchContext stands in for the engine's.
type DispatchContext struct{}

// ToolResult stands in for the engine's.
type ToolResult interface{ isToolResult() }
