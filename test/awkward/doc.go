// Package awkward has objects that the API server admits and that nobody in their right mind would write, for each
// built-in plugin: long, large and many, with odd names in references and numbers at their ends.
package awkward
