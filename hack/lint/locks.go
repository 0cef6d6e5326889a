package main

import (
	"go/ast"
	"strings"
)

// releases finds locks in the host that a panic would leave locked: an Unlock that isn't deferred, with a call between
// it and its Lock. The host lives on after a panic in a sync, and everybody who needs the lock would wait for ever.
//
// The host's places and pools are given back by what is deferred as well; only locks are so many that it takes a rule.
func (f *file) releases() []finding {
	if !strings.HasPrefix(f.path, "host/") || f.isTest() {
		return nil
	}
	var found []finding
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			found = append(found, f.heldLocks(n.List)...)
		case *ast.CaseClause:
			found = append(found, f.heldLocks(n.Body)...)
		case *ast.CommClause:
			found = append(found, f.heldLocks(n.Body)...)
		}
		return true
	})
	return found
}

// unlocks are the methods that end what others begin.
var unlocks = map[string]string{"Lock": "Unlock", "RLock": "RUnlock"}

// heldLocks finds the locks that statements take one after the other, and hold during a call without a deferred
// release.
func (f *file) heldLocks(list []ast.Stmt) []finding {
	var found []finding
	for i, s := range list {
		lock, method := methodCall(s)
		if unlocks[method] == "" {
			continue
		}
		if call := callUntil(list[i+1:], lock, unlocks[method]); call != nil {
			found = append(found, finding{f.path, f.line(s.Pos()), "locks", lock + "." + method +
				" is held during a call, and not released by a defer: a panic there would hold it for ever"})
		}
	}
	return found
}

// callUntil returns the first call in the statements before the one that releases the lock, nil for none. If the
// release is deferred, no call after that matters.
func callUntil(list []ast.Stmt, lock, unlock string) (call ast.Node) {
	for _, s := range list {
		if call != nil || isRelease(s, lock, unlock) {
			return call
		}
		call = firstCall(s, lock, unlock)
	}
	return call
}

// isRelease reports whether a statement releases the lock, or defers that.
func isRelease(s ast.Stmt, lock, unlock string) bool {
	if d, ok := s.(*ast.DeferStmt); ok {
		x, m := method(d.Call)
		return x == lock && m == unlock || isLiteralWith(d.Call, lock, unlock)
	}
	x, m := methodCall(s)
	return x == lock && m == unlock
}

// firstCall returns a call in a statement that may panic, nil for none: in each of its blocks up to where that releases
// the lock. What a function literal does it does later.
func firstCall(n ast.Node, lock, unlock string) (found ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if found != nil {
			return false
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BlockStmt:
			found = callUntil(n.List, lock, unlock)
			return false
		case *ast.CallExpr:
			if !isHarmless(n) {
				found = n
			}
		}
		return found == nil
	})
	return found
}

// harmless are functions that don't panic where they are called with what a compiler takes.
var harmless = map[string]bool{"len": true, "cap": true, "append": true, "delete": true, "clear": true, "min": true,
	"max": true, "copy": true, "make": true, "new": true, "string": true, "int": true, "int32": true, "int64": true,
	"uint32": true, "uint64": true, "float64": true, "byte": true, "time.Now": true, "time.Since": true,
	"time.Until": true, "time.Duration": true, "slices.Clone": true, "maps.Clone": true}

// isHarmless reports whether a call can't panic, as far as its name tells.
func isHarmless(c *ast.CallExpr) bool {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return harmless[f.Name]
	case *ast.ArrayType, *ast.MapType: // a conversion
		return true
	}
	x, m := method(c)
	return harmless[x+"."+m] || harmlessMethods[m]
}

// harmlessMethods are methods of times, timers, atomics, contexts and conditions that don't panic.
var harmlessMethods = map[string]bool{"Stop": true, "Sub": true, "After": true, "Before": true, "IsZero": true,
	"Load": true, "Store": true, "Add": true, "Err": true, "Wait": true}

// methodCall returns what a statement calls a method of, and the method, if it is nothing but such a call.
func methodCall(s ast.Stmt) (receiver, name string) {
	if e, ok := s.(*ast.ExprStmt); ok {
		if c, ok := e.X.(*ast.CallExpr); ok {
			return method(c)
		}
	}
	return "", ""
}

// method returns what a call's method is of, as it is written, and the method.
func method(c *ast.CallExpr) (receiver, name string) {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	return written(s.X), s.Sel.Name
}

// written returns an expression of names and dots as it is written; of others what is before them, which suffices to
// tell locks apart.
func written(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return written(e.X) + "." + e.Sel.Name
	case *ast.StarExpr:
		return written(e.X)
	case *ast.ParenExpr:
		return written(e.X)
	case *ast.IndexExpr:
		return written(e.X) + "[" + written(e.Index) + "]"
	case *ast.CallExpr:
		return written(e.Fun) + "()"
	}
	return "?"
}

// isLiteralWith reports whether what is deferred is a function literal that releases the lock.
func isLiteralWith(c *ast.CallExpr, lock, unlock string) bool {
	l, ok := c.Fun.(*ast.FuncLit)
	if !ok {
		return false
	}
	found := false
	ast.Inspect(l.Body, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			x, m := method(c)
			found = found || x == lock && m == unlock
		}
		return !found
	})
	return found
}
