// Explanations: RL.EXPLAIN's reply as pictures.
