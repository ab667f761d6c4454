package chat

// OptionNames returns the names of the options in the table.
func OptionNames() (names []string) {
	for _, r := range table {
		names = append(names, r.name)
	}
	return names
}
