package store

import (
	"bytes"
	"database/sql/driver"
	"fmt"
	"strconv"
)

// ScanRow puts a row's values where dest points, for a driver. Values are int64,
// float64, bool, string, []byte and nil; those that a destination can't hold
// are errors, so that a wrong query is found by its first test.
func ScanRow(row []driver.Value, dest []any) error {
	if len(row) != len(dest) {
		return fmt.Errorf("the query has %d columns, %d are asked for", len(row), len(dest))
	}
	for i, v := range row {
		if err := scanValue(v, dest[i]); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

func scanValue(v driver.Value, dest any) error {
	switch d := dest.(type) {
	case *int64:
		if n, ok := v.(int64); ok {
			*d = n
			return nil
		}
	case *int:
		if n, ok := v.(int64); ok {
			*d = int(n)
			return nil
		}
	case *bool:
		switch b := v.(type) {
		case int64:
			*d = b != 0
			return nil
		case bool:
			*d = b
			return nil
		}
	case *string:
		switch s := v.(type) {
		case string:
			*d = s
			return nil
		case []byte:
			*d = string(s)
			return nil
		case int64:
			*d = strconv.FormatInt(s, 10)
			return nil
		}
	case *[]byte:
		switch b := v.(type) {
		case nil:
			*d = nil
			return nil
		case []byte:
			*d = bytes.Clone(b)
			return nil
		case string:
			*d = []byte(b)
			return nil
		}
	case **int64:
		switch n := v.(type) {
		case nil:
			*d = nil
			return nil
		case int64:
			*d = &n
			return nil
		}
	case *any:
		*d = v
		return nil
	}
	return fmt.Errorf("%T doesn't fit in %T", v, dest)
}
