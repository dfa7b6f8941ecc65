/** A web application of one endpoint behind the first document's annotation and aspect. */
package zlimit.compat.spring.web;
