package database

// The statements whose query plans the tests look at.
const (
	SelectRecords = selectRecords
	SelectLast    = selectLast
)
