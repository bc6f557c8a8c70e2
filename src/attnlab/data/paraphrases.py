"""Thirty pairs of sentences that say the same in other words, written for the course.

A sentence encoder should find the partner of each among all the others. The two share hardly a
word, so counting words in common is not enough. Choose on one half, test on the other.
"""

PAIRS: list[tuple[str, str]] = [
    ("The bank of the river was flooded.", "The shore of the stream was under water."),
    ("She broke the record for the long jump.", "No woman has ever leapt further."),
    ("The doctor treated the sick child.", "A physician cared for a boy who was ill."),
    ("He left the light on all night.", "The lamp burned until the morning."),
    ("The film was so dull that I fell asleep.", "I nodded off during the boring movie."),
    ("Prices rose sharply last year.", "Everything became much more expensive within months."),
    ("The match was cancelled because of rain.", "Wet weather stopped the game."),
    ("The teacher praised the pupils.", "The schoolmaster said kind words to his class."),
    ("A bat flew out of the cave.", "A winged animal left the dark cavern."),
    ("The company fired two hundred workers.", "Many employees lost their jobs."),
    ("He is afraid of heights.", "Standing on a tall tower frightens him."),
    ("The children are playing in the garden.", "Kids have fun on the lawn."),
    ("The plane landed safely.", "The aircraft came down without trouble."),
    ("I would like to book a table for two.", "Please reserve us a place for dinner."),
    ("The lawyer won the case.", "The attorney was successful in court."),
    ("The soup needs more salt.", "There is not enough seasoning in the broth."),
    ("Our team lost the final.", "We were beaten in the last game."),
    ("The old bridge was closed for repairs.", "Nobody can cross the river until it is mended."),
    ("The cat chased the mouse.", "A kitten ran after a small rodent."),
    ("He ran out of petrol.", "There was no fuel left in his tank."),
    ("The crowd cheered the singer.", "The audience applauded the vocalist."),
    ("She is expecting a baby.", "She will soon be a mother."),
    ("The spring in the mattress is broken.", "A coil of the bed has snapped."),
    ("The judge gave a short sentence.", "The criminal was sent to prison for a few weeks."),
    ("The wind blew the roof off the house.", "A storm tore the top off the building."),
    ("He has a sharp mind.", "He is very clever."),
    ("The shop opens at nine.", "You can buy things there from nine in the morning."),
    ("The current pulled the swimmer out to sea.", "A man was dragged off the beach by the water."),
    ("The train was delayed.", "The railway service was late."),
    ("I cannot stand loud music.", "Noisy songs annoy me."),
]  # fmt: skip
CHOOSE, TEST = PAIRS[:15], PAIRS[15:]
