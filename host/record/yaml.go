package record

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

// widthMost is how long a line of [YAML] becomes by what stands in it in braces or brackets, in bytes.
const widthMost = 230

// inLines are the fields whose members or elements stand in lines of their own, however short they are.
var inLines = []string{"effects", "members", "performed", "set", "metrics"}

// YAML is something in YAML as people write it: what fits into a line is in one.
func YAML(v any) (string, error) {
	text, err := kyaml.Marshal(v)
	if err != nil {
		return "", err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil || len(document.Content) == 0 {
		return string(text), err
	}
	root := document.Content[0]
	if len(root.Content) == 0 {
		return string(text), nil
	}

	if err := fold(root, 0, true); err != nil {
		return "", err
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	e.CompactSeqIndent()
	err = e.Encode(root)
	return b.String(), err
}

// fold has the values of a mapping or list stand in one line each where they fit; column is where it begins.
func fold(n *yaml.Node, column int, lines bool) error {
	if !lines {
		fits, err := fitsLine(n, column)
		if err != nil || fits {
			return err
		}
	}

	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			behind := column + len(key.Value) + len(": ")
			if lines := slices.Contains(inLines, key.Value); !lines {
				if fits, err := fitsLine(value, behind); err != nil {
					return err
				} else if fits {
					continue
				}
			}

			within := column + 2
			if value.Kind == yaml.SequenceNode {
				within = column
			}
			if err := fold(value, within, true); err != nil {
				return err
			}
		}
	case yaml.SequenceNode:
		for _, x := range n.Content {
			// What an effect does stands in a line of its own.
			if err := fold(x, column+2, x.Kind == yaml.MappingNode && x.Content[0].Value == "do"); err != nil {
				return err
			}
		}
	}
	return nil
}

// fitsLine puts a mapping or list into one line, and reports whether it fits from a column on. A text does as it is.
func fitsLine(n *yaml.Node, column int) (bool, error) {
	if n.Kind == yaml.ScalarNode {
		return true, nil
	}
	if !inOneLine(n) {
		return false, nil
	}
	was := n.Style
	n.Style = yaml.FlowStyle
	b, err := yaml.Marshal(n)
	if err != nil {
		return false, err
	}
	if column+len(b) > widthMost {
		n.Style = was
		return false, nil
	}
	return true, nil
}

// inOneLine reports whether no text in a node has lines of its own.
func inOneLine(n *yaml.Node) bool {
	if n.Kind == yaml.ScalarNode {
		return n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0
	}
	return !slices.ContainsFunc(n.Content, func(x *yaml.Node) bool { return !inOneLine(x) })
}
