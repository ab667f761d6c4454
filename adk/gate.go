package adk

// TurnGate is a point at which a turn waits for somebody outside (GAT). Only
// the runner makes gates.
type TurnGate struct{}

type gateList struct{}
