package life

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

func (s *Script) decode() error {
	if s.Counts != "" && s.Counts != "vary" {
		return fmt.Errorf("counts: %q is not \"vary\"", s.Counts)
	}
	if s.Nodes != "" && s.Nodes != "fixed" {
		return fmt.Errorf("nodes: %q is not \"fixed\"", s.Nodes)
	}

	for i, d := range s.Differences {
		if d.What == "" || d.Row == "" {
			return fmt.Errorf("differences[%d]: wants what differs and the row of docs/differences.md", i)
		}
	}

	var err error
	if s.Before, err = decodeSteps(s.RawBefore); err != nil {
		return fmt.Errorf("before: %w", err)
	}
	if s.Steps, err = decodeSteps(s.RawSteps); err != nil {
		return err
	}

	for i, raw := range s.RawRest {
		var c Condition
		err := unmarshal(raw, &c)
		if err == nil {
			err = c.validate()
		}
		if err != nil {
			return fmt.Errorf("rest[%d]: %w", i, err)
		}
		s.Rest = append(s.Rest, c)
	}

	if len(s.Steps) == 0 || len(s.Rest) == 0 {
		return errors.New("wants steps, and a rest")
	}
	return nil
}

func decodeSteps(list []json.RawMessage) (all []Step, _ error) {
	for i, raw := range list {
		var step Step
		err := unmarshal(raw, &step)
		if err == nil {
			err = step.validate()
		}
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		all = append(all, step)
	}
	return all, nil
}

// Verb is what a step does.
func (s *Step) Verb() string {
	verbs := s.givenVerbs()
	return strings.Join(verbs, " and ")
}

func (s *Step) givenVerbs() (all []string) {
	for verb, is := range map[string]bool{
		"create": s.Create != nil, "patch": s.Patch != nil, "delete": s.Delete != nil, "end": s.End != nil,
		"metrics": s.Metrics != nil, "until": s.Until != nil, "expect": s.Expect != nil, "refuse": s.Refuse != nil,
		"allow": s.Allow != nil, "watch": s.Watch != nil, "watched": s.Watched != nil,
		"look": s.Look != nil, "midway": s.Midway,
	} {
		if is {
			all = append(all, verb)
		}
	}
	slices.Sort(all)
	return all
}

func (s *Step) validate() error {
	if n := len(s.givenVerbs()); n != 1 {
		return fmt.Errorf("does %d things (%s): one step does one", n, s.Verb())
	}
	switch {
	case s.Create != nil:
		return s.Create.validate()
	case s.Patch != nil:
		given := 0
		for _, p := range []any{s.Patch.Merge, s.Patch.JSON, s.Patch.Strategic} {
			if p != nil {
				given++
			}
		}
		if given != 1 {
			return fmt.Errorf("patch: wants one of merge, json and strategic, has %d", given)
		}
		return s.Patch.Which.validate("patch")
	case s.Delete != nil:
		if p := s.Delete.Propagation; p != "" && p != "Background" && p != "Foreground" && p != "Orphan" {
			return fmt.Errorf("delete.propagation: %q is not Background, Foreground or Orphan", p)
		}
		return s.Delete.Which.validate("delete")
	case s.End != nil:
		if _, err := time.ParseDuration(s.End.Ago); s.End.Ago != "" && err != nil {
			return fmt.Errorf("end.ago: %w", err)
		}
		if s.End.Kind != "" {
			return errors.New("end.kind: is always Pod")
		}
		s.End.Kind = "Pod"
		return s.End.Which.validate("end")
	case s.Refuse != nil:
		return s.Refuse.checkNamed("refuse")
	case s.Allow != nil:
		return s.Allow.checkNamed("allow")
	case s.Watch != nil && s.Watch.App == "":
		return errors.New("watch.app: is missing")
	case s.Watched != nil && s.Watched.App == "":
		return errors.New("watched.app: is missing")
	}

	for i := range s.Look {
		if err := s.Look[i].validate("look"); err != nil {
			return err
		}
	}

	for verb, list := range map[string][]Condition{"until": s.Until, "expect": s.Expect} {
		for i := range list {
			if err := list[i].validate(); err != nil {
				return fmt.Errorf("%s[%d]: %w", verb, i, err)
			}
		}
	}
	return nil
}

func (c *Create) validate() error {
	if len(c.Objects) == 0 && c.File == "" {
		return errors.New("create.objects: names none")
	}
	for i, o := range c.Objects {
		metadata, _ := o["metadata"].(map[string]any)
		if o["apiVersion"] == nil || o["kind"] == nil || metadata["name"] == nil {
			return fmt.Errorf("create.objects[%d]: wants apiVersion, kind and metadata.name", i)
		}
	}
	return nil
}

func (w *Which) validate(verb string) error {
	switch {
	case w.Kind == "":
		return fmt.Errorf("%s.kind: is missing", verb)
	case w.Name != "" && w.Selector != "":
		return fmt.Errorf("%s: wants a name or a selector, not both", verb)
	}
	return nil
}

func (w *Which) checkNamed(verb string) error {
	if w.Name == "" {
		return fmt.Errorf("%s.name: is missing", verb)
	}
	return w.validate(verb)
}

func (r *Request) validate() error {
	if r.Verb == "" || r.Resource == "" {
		return errors.New("request: wants a verb and a resource")
	}
	if _, err := time.ParseDuration(r.Apart); r.Apart != "" && err != nil {
		return fmt.Errorf("request.apart: %w", err)
	}
	return nil
}

func (c *Condition) validate() error {
	if c.Request != nil {
		return c.Request.validate()
	}
	if c.Order != nil {
		for i := range c.Order {
			if err := c.Order[i].validate(); err != nil {
				return fmt.Errorf("order[%d]: %w", i, err)
			}
		}
		if len(c.Order) < 2 {
			return errors.New("order: wants two requests at least")
		}
		return nil
	}
	if c.Silent != "" || c.Own != nil {
		return nil
	}

	switch {
	case c.Absent && (c.Count != nil || c.Event != nil || c.Matches != nil):
		return errors.New("absent: goes with a name alone")
	case c.Absent && c.Name == "":
		return errors.New("absent: wants a name; of a selector count: 0 says it")
	case c.Event != nil && c.Event.Reason == "":
		return errors.New("event.reason: is missing")
	}

	return c.Which.validate("condition")
}
