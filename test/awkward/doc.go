// Package awkward has objects that the API server admits and that nobody in their right mind would write, for each
// built-in plugin: long, large and many, with odd names in references and numbers at their ends.
//
// Most are found: of each kind that a plugin's golden cases have, the fields that its Go type has are made as large as
// the API server admits, which dry runs tell. A new controller has some by having golden cases. Others are known and
// listed (objects.go): what has stopped a controller before, and what no field's size tells.
package awkward
