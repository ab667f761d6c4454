package written

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"time"

	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/compare"
)

// named is a constant of a package whose value is a number or a duration.
type named struct {
	value constant.Value
	unit  bool // it is a duration, in nanoseconds
	at    found
}

// says reports whether a field has the value of the constant.
func (n named) says(field string) bool {
	if ns, exact := constant.Int64Val(constant.ToInt(n.value)); n.unit && exact {
		return field == strconv.Quote(time.Duration(ns).String())
	}
	want, err := strconv.ParseFloat(field, 64)
	value, _ := constant.Float64Val(constant.ToFloat(n.value))
	return err == nil && !n.unit && value == want
}

// units are the constants of package time from which durations are made.
var units = map[string]time.Duration{"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond,
	"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}

// constants adds the constants of a specification whose values consist of literals and units.
func (d *declaration) constants(spec *ast.ValueSpec) {
	for i, value := range spec.Values {
		if v, unit, known := d.evaluated(value); known {
			key := path.Join(path.Dir(d.path), spec.Names[i].Name)
			d.numbers[key] = append(d.numbers[key], named{v, unit, d.found(spec.Names[i].Pos())})
		}
	}
}

// evaluated is the value of an expression of literals and units of time.
func (d *declaration) evaluated(e ast.Expr) (v constant.Value, unit, known bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		v = constant.MakeFromLiteral(e.Value, e.Kind, 0)
		return v, false, e.Kind == token.INT || e.Kind == token.FLOAT
	case *ast.ParenExpr:
		return d.evaluated(e.X)
	case *ast.UnaryExpr:
		if v, unit, known = d.evaluated(e.X); known && e.Op == token.SUB {
			return constant.UnaryOp(e.Op, v, 0), unit, true
		}
	case *ast.SelectorExpr:
		of, ok := e.X.(*ast.Ident)
		in, isUnit := units[e.Sel.Name]
		return constant.MakeInt64(int64(in)), true, ok && isUnit && d.packages[of.Name] == "time"
	case *ast.BinaryExpr:
		x, ofX, knownX := d.evaluated(e.X)
		y, ofY, knownY := d.evaluated(e.Y)
		if knownX && knownY && (e.Op == token.ADD || e.Op == token.SUB || e.Op == token.MUL) {
			return constant.BinaryOp(x, e.Op, y), ofX || ofY, true
		}
	}
	return nil, false, false
}

// Constant is the declaration of a constant that the line used names and whose value is the number
// or duration that a field has now; none if there are several.
func (s *Source) Constant(used, now string) codeplace.Place {
	file, line, known := codeplace.Parse(used)
	if !known || !s.files[file] {
		return codeplace.Place{}
	}
	content, err := fs.ReadFile(s.root, file)
	if err != nil {
		return codeplace.Place{}
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, content, parser.SkipObjectResolution)
	if err != nil {
		return codeplace.Place{}
	}
	var all []found
	members := map[*ast.Ident]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		if of, ok := n.(*ast.SelectorExpr); ok {
			members[of.Sel] = true
		}
		id, ok := n.(*ast.Ident)
		if ok && !members[id] && set.PositionFor(id.Pos(), false).Line == line {
			for _, c := range s.numbers[path.Join(path.Dir(file), id.Name)] {
				if c.says(now) {
					all = append(all, c.at)
				}
			}
		}
		return true
	})
	return oneOf(all)
}

// Constant is the line that gives the first field that differs its value, by a constant that the
// line used names; empty where there is none.
func Constant(fields []compare.FieldDiff, used string) string {
	if len(fields) == 0 || !fields[0].Input {
		return ""
	}
	return Here().Constant(used, fields[0].Got).String()
}
