"""The words of the English–French corpus: nouns, adjectives and verbs, with all their forms.

Tables are written to be read and extended. A noun is `singular[/plural] singular[/plural]
gender`; regular plurals are made by rule. Nouns come in classes, so that a verb can say what it
goes with: people read books, cats do not. A star marks an *h aspiré*, before which nothing is
elided: la hache, not l'hache.
"""

from dataclasses import dataclass

NOUNS = """
person: man/men homme m; woman/women femme f; boy garçon m; girl fille f; child/children enfant m;
  friend ami m; teacher professeur m; doctor médecin m; king roi m; queen reine f;
  hero/heroes *héros/héros m; actress/actresses actrice f; sister sœur f; brother frère m
animal: cat chat m; dog chien m; horse cheval/chevaux m; bird oiseau/oiseaux m; cow vache f;
  mouse/mice souris/souris f; elephant éléphant m; owl *hibou/hiboux m
food: apple pomme f; orange orange f; egg œuf m; cake gâteau/gâteaux m; lobster *homard m
meal: bread pain m; cheese fromage m; meat viande f
drink: water eau f; milk lait m; coffee café m
text: book livre m; letter lettre f; newspaper journal/journaux m; story/stories histoire f
clothing: hat chapeau/chapeaux m; dress/dresses robe f; coat manteau/manteaux m;
  scarf/scarves écharpe f
vehicle: car voiture f; train train m; boat bateau/bateaux m; plane avion m
thing: key clé f; box/boxes boîte f; lamp lampe f; clock horloge f; axe *hache f; tool outil m
furniture: table table f; chair chaise f; bed lit m
place: house maison f; garden jardin m; school école f; hospital hôpital/hôpitaux m; hotel hôtel m;
  church/churches église f; shop magasin m; park parc m; kitchen cuisine f; hut *hutte f
area: street rue f; forest forêt f
stop: station gare f; market marché m; beach/beaches plage f
surface: bridge pont m; island île f
"""

MASS = {"meal", "drink"}  # some bread, not two breads

# English, French masculine[/feminine[/masculine plural]][+form before a vowel], classes.
ADJECTIVES_BEFORE = """
small petit: animal text clothing vehicle thing furniture place stop surface
big grand: animal vehicle thing furniture place area stop surface
young jeune: person animal
old vieux/vieille/vieux+vieil: person animal text clothing vehicle thing furniture place surface
beautiful beau/belle/beaux+bel: animal clothing vehicle thing place area surface
pretty joli: clothing thing furniture place surface
good bon/bonne: food meal drink text
bad mauvais: food meal drink text
new nouveau/nouvelle/nouveaux+nouvel: text clothing vehicle thing furniture place stop
"""
COLOURS = """
red rouge: clothing vehicle thing furniture
blue bleu: clothing vehicle thing furniture
green vert: clothing vehicle thing furniture
black noir: clothing vehicle thing furniture animal
white blanc/blanche: clothing vehicle thing furniture animal
french français: person text meal drink vehicle
english anglais: person text vehicle
italian italien/italienne: person text meal drink vehicle
"""
QUALITIES = """
intelligent intelligent: person animal
happy heureux/heureuse: person
sad triste: person text
tired fatigué: person animal
famous célèbre: person text place
calm calme: person animal area
curious curieux/curieuse: person animal
strange étrange: person animal text thing surface
brave courageux/courageuse: person animal
dangerous dangereux/dangereuse: animal area surface
expensive cher/chère: food meal drink clothing vehicle thing furniture
heavy lourd: thing furniture
broken cassé: thing furniture vehicle
clean propre: clothing vehicle place area stop
modern moderne: place furniture stop surface
quiet tranquille: place area stop
fresh frais/fraîche: food meal
cold froid: drink meal
interesting intéressant: text
"""

# English [base/he/past][+particle], French[=forms], [à or de]: subjects > objects. The forms are
# je, il, nous, vous, ils, participle; verbs in -er make their own. "-" marks a form that is not
# used.
VERBS = """
see/sees/saw voir=vois/voit/voyons/voyez/voient/vu: person animal > *
love aimer: person > *
watch/watches regarder: person animal > person animal vehicle
look+for chercher: person animal > person animal food text clothing thing
find/finds/found trouver: person animal > person animal food text clothing thing
eat/eats/ate manger: person animal > food meal
drink/drinks/drank boire=bois/boit/buvons/buvez/boivent/bu: person > drink
read/reads/- lire=lis/lit/lisons/lisez/lisent/-: person > text
write/writes/wrote écrire=écris/écrit/écrivons/écrivez/écrivent/écrit: person > text
buy/buys/bought acheter=achète/achète/achetons/achetez/achètent/acheté: person > food meal drink
  text clothing vehicle thing furniture
wear/wears/wore porter: person > clothing
follow suivre=suis/suit/suivons/suivez/suivent/suivi: person animal > person animal vehicle
help aider: person > person animal
know/knows/- connaître=connais/connaît/connaissons/connaissez/connaissent/-: person > person place
  area
visit visiter: person > place area
take/takes/took prendre=prends/prend/prenons/prenez/prennent/pris: person > text clothing vehicle
  thing
have/has/- avoir=ai/a/avons/avez/ont/-: person > animal food text clothing vehicle thing furniture
wait+for attendre=attends/attend/attendons/attendez/attendent/attendu: person animal > person
  vehicle
"""
INTRANSITIVE = """
sleep/sleeps/slept dormir=dors/dort/dormons/dormez/dorment/dormi: person animal
sing/sings/sang chanter: person
run/runs/ran courir=cours/court/courons/courez/courent/couru: person animal
work travailler: person
dance danser: person
walk marcher: person animal
"""
# The object follows a French preposition, which may melt into its article: parle du livre, va au
# marché.
WITH_PREPOSITION = """
speak/speaks/spoke+to parler à: person > person
speak/speaks/spoke+about parler de: person > person animal text vehicle place
go/goes/went+to aller=vais/va/allons/allez/vont/allé à: person animal > place stop
arrive+at arriver à: person animal > place stop
"""
GIVING = """
give/gives/gave donner: person > food text clothing thing
show/shows/showed montrer: person > person animal text clothing vehicle thing place
"""
SAYING = """
think/thinks/- penser: person
say/says/- dire=dis/dit/disons/dites/disent/-: person
know/knows/- savoir=sais/sait/savons/savez/savent/-: person
"""
ONLY_NOW = {"aimer", "connaître", "avoir"}  # states: no "is going to know"
WITH_BEING = {"aller", "arriver"}  # past with être: elle est allée


@dataclass(frozen=True)
class Noun:
    english: tuple[str, str]  # one, several
    french: tuple[str, str]
    feminine: bool
    kind: str


@dataclass(frozen=True)
class Adjective:
    english: str
    french: tuple[str, str, str, str]  # le, la, les (m), les (f)
    before_vowel: str  # bel, nouvel, vieil; "" when nothing changes
    kinds: frozenset[str]


@dataclass(frozen=True)
class Verb:
    english: tuple[str, str, str]  # see, sees, saw
    particle: str  # for, to
    infinitive: str
    french: tuple[str, ...]  # je, il, nous, vous, ils
    participle: str
    preposition: str  # à, de
    subjects: frozenset[str]
    objects: frozenset[str]
    state: bool
    moves: bool
    has_past: bool


ASPIRATED: set[str] = set()  # filled while the nouns are read


def _lines(table: str) -> list[str]:
    """The entries of a table; a line that starts with spaces continues the one before."""
    return table.replace("\n  ", " ").strip().splitlines()


def _plural(word: str) -> str:
    return word if word[-1] in "sxz" else word + "s"


def _nouns() -> list[Noun]:
    nouns = []
    for entry in _lines(NOUNS):
        kind, _, words = entry.partition(":")
        for word in words.split(";"):
            english, french, gender = word.split()
            one, _, several = french.lstrip("*").partition("/")
            forms = (one, several or _plural(one))
            if french.startswith("*"):
                ASPIRATED.update(forms)
            single, _, many = english.partition("/")
            nouns.append(Noun((single, many or single + "s"), forms, gender == "f", kind))
    return nouns


def _adjectives(table: str) -> list[Adjective]:
    adjectives = []
    for entry in _lines(table):
        words, _, kinds = entry.partition(":")
        english, french = words.split()
        french, _, before_vowel = french.partition("+")
        forms = french.split("/")
        feminine = (
            forms[1] if len(forms) > 1 else forms[0] if forms[0][-1] == "e" else forms[0] + "e"
        )
        several = forms[2] if len(forms) > 2 else _plural(forms[0])
        adjectives.append(
            Adjective(
                english,
                (forms[0], feminine, several, _plural(feminine)),
                before_vowel,
                frozenset(kinds.split()),
            )
        )
    return adjectives


def _conjugate(infinitive: str) -> list[str]:
    """The regular verbs in -er: je, il, nous, vous, ils, participle."""
    stem = infinitive.removesuffix("er")
    soft = stem + "e" if stem.endswith("g") else stem  # nous mangeons
    return [stem + "e", stem + "e", soft + "ons", stem + "ez", stem + "ent", stem + "é"]


def _verbs(table: str) -> list[Verb]:
    verbs = []
    for entry in _lines(table):
        words, _, kinds = entry.partition(": ")
        english, french, *preposition = words.split()
        forms, _, particle = english.partition("+")
        base, *rest = forms.split("/")
        third = rest[0] if rest else base + "s"
        past = rest[1] if len(rest) > 1 else base + ("d" if base.endswith("e") else "ed")
        infinitive, _, given = french.partition("=")
        french_forms = given.split("/") if given else _conjugate(infinitive)
        subjects, _, objects = kinds.partition(" > ")
        everything = " ".join({noun.kind for noun in ALL_NOUNS})
        verbs.append(
            Verb(
                english=(base, third, past.replace("-", "")),
                particle=particle,
                infinitive=infinitive,
                french=tuple(french_forms[:5]),
                participle=french_forms[5],
                preposition=preposition[0] if preposition else "",
                subjects=frozenset(subjects.split()),
                objects=frozenset((everything if objects == "*" else objects).split()),
                state=infinitive in ONLY_NOW,
                moves=infinitive in WITH_BEING,
                has_past=past != "-" and infinitive not in ONLY_NOW,
            )
        )
    return verbs


ALL_NOUNS = _nouns()
BEFORE = _adjectives(ADJECTIVES_BEFORE)
COLOUR = _adjectives(COLOURS)
QUALITY = _adjectives(QUALITIES)
TRANSITIVE = _verbs(VERBS)
ALONE = _verbs(INTRANSITIVE)
PREPOSITIONAL = _verbs(WITH_PREPOSITION)
DITRANSITIVE = _verbs(GIVING)
CLAUSAL = _verbs(SAYING)
