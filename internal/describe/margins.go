package describe

// Indent is by how much a line stands further in than what it is part of.
const Indent = "  "
