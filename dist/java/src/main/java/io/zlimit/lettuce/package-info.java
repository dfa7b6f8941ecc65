/** RL.ALLOW through Lettuce. Needs lettuce-core, which the user brings. */
package io.zlimit.lettuce;
