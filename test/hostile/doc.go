// Package hostile holds modules that mean harm, and shows that none of them does any.
package hostile
