package numbers

import (
	"fmt"
	"math"
	"slices"
)

func newMatrix(rows, columns int) matrix {
	m := matrix{rows: make([][]float64, rows)}
	for i := range m.rows {
		m.rows[i] = make([]float64, columns)
	}
	return m
}

func (m matrix) size() (rows, columns int) { return len(m.rows), len(m.rows[0]) }

func (m matrix) clone() matrix {
	own := matrix{make([][]float64, len(m.rows)), m.vector}
	for i, row := range m.rows {
		own.rows[i] = slices.Clone(row)
	}
	return own
}

func (m matrix) equal(other matrix) bool {
	return slices.EqualFunc(m.rows, other.rows, slices.Equal)
}

func (m matrix) scaled(by float64) matrix {
	own := m.clone()
	for _, row := range own.rows {
		for j := range row {
			row[j] *= by
		}
	}
	return own
}

func (m matrix) plus(other matrix, sign float64) (value, error) {
	rows, columns := m.size()
	if r, c := other.size(); r != rows || c != columns {
		return nil, fmt.Errorf("a %d × %d matrix beside one of %d × %d: the shapes do not fit", rows, columns, r, c)
	}
	own := m.clone()
	for i, row := range own.rows {
		for j := range row {
			row[j] += float64(sign * other.rows[i][j])
		}
	}
	return own, nil
}

// times returns the product. For two vectors it is the scalar product; a vector to the right of a
// matrix is a column.
func (m matrix) times(other matrix) (value, error) {
	upright := other.vector && len(m.rows[0]) != 1
	if upright {
		other = other.transposed()
	}
	rows, inner := m.size()
	r, columns := other.size()
	if inner != r {
		return nil, fmt.Errorf("a %d × %d matrix times one of %d × %d: the shapes do not fit", rows, inner, r, columns)
	}
	product := newMatrix(rows, columns)
	for i := range rows {
		for j := range columns {
			for k := range inner {
				product.rows[i][j] += float64(m.rows[i][k] * other.rows[k][j]) // the conversion prevents fused operations, which differ between machines
			}
		}
	}
	switch {
	case m.vector && upright:
		return scalar(product.rows[0][0]), nil
	case upright:
		product = product.transposed()
		product.vector = true
	default:
		product.vector = m.vector
	}
	return product, nil
}

func (m matrix) transposed() matrix {
	rows, columns := m.size()
	own := newMatrix(columns, rows)
	for i, row := range m.rows {
		for j, cell := range row {
			own.rows[j][i] = cell
		}
	}
	return own
}

func (m matrix) square() error {
	if rows, columns := m.size(); rows != columns {
		return fmt.Errorf("a %d × %d matrix, want a square one", rows, columns)
	}
	return nil
}

// power multiplies the matrix by itself, for whole exponents up to 100.
func (m matrix) power(exponent float64) (value, error) {
	if err := m.square(); err != nil {
		return nil, err
	}
	if exponent != math.Trunc(exponent) || exponent < 0 || exponent > 100 {
		return nil, fmt.Errorf("a matrix to the power of a number that is not whole, or not within 0 and 100")
	}
	result := newMatrix(len(m.rows), len(m.rows))
	for i := range result.rows {
		result.rows[i][i] = 1
	}
	for range int(exponent) {
		product, err := result.times(m)
		if err != nil {
			return nil, err
		}
		result = product.(matrix)
	}
	return result, nil
}

// eliminated transforms a square matrix into upper triangular form, using the largest pivots, and
// applies the same steps to beside. It returns the determinant.
func (m matrix) eliminated(beside matrix) (determinant float64) {
	determinant = 1
	for k := range m.rows {
		pivot := k
		for i := k + 1; i < len(m.rows); i++ {
			if math.Abs(m.rows[i][k]) > math.Abs(m.rows[pivot][k]) {
				pivot = i
			}
		}
		if m.rows[pivot][k] == 0 {
			return 0
		}
		if pivot != k {
			m.rows[k], m.rows[pivot] = m.rows[pivot], m.rows[k]
			beside.rows[k], beside.rows[pivot] = beside.rows[pivot], beside.rows[k]
			determinant = -determinant
		}
		determinant *= m.rows[k][k]
		for i := k + 1; i < len(m.rows); i++ {
			subtract(m.rows[i], beside.rows[i], m.rows[k], beside.rows[k], m.rows[i][k]/m.rows[k][k])
		}
	}
	return determinant
}

func subtract(row, besideRow, from, besideFrom []float64, factor float64) {
	for j := range row {
		row[j] -= float64(factor * from[j])
		besideRow[j] -= float64(factor * besideFrom[j])
	}
}

func determinantOf(m matrix) (value, error) {
	if err := m.square(); err != nil {
		return nil, err
	}
	own := m.clone()
	return scalar(own.eliminated(newMatrix(m.size()))), nil
}

func inverseOf(m matrix) (value, error) {
	if err := m.square(); err != nil {
		return nil, err
	}
	own, inverse := m.clone(), newMatrix(m.size())
	for i := range inverse.rows {
		inverse.rows[i][i] = 1
	}
	if own.eliminated(inverse) == 0 {
		return nil, fmt.Errorf("the matrix has no inverse: its determinant is zero")
	}
	for k := len(own.rows) - 1; k >= 0; k-- {
		for i := range k {
			subtract(own.rows[i], inverse.rows[i], own.rows[k], inverse.rows[k], own.rows[i][k]/own.rows[k][k])
		}
	}
	for i, row := range inverse.rows {
		for j := range row {
			row[j] /= own.rows[i][i]
		}
	}
	return inverse, nil
}
