for(const section of document.querySelectorAll('section')){
const nodes=[...section.querySelectorAll('.node')],links=[...section.querySelectorAll('.link')];
let kept=null;
const show=n=>{for(const link of links){
const on=n===null||link.dataset.ends.split(' ').includes(n);link.classList.toggle('dim',!on)}
for(const node of nodes){const on=n===null||node.dataset.node===n||links.some(link=>{
const ends=link.dataset.ends.split(' ');return ends.includes(n)&&ends.includes(node.dataset.node)});
node.classList.toggle('dim',!on)}};
for(const node of nodes){const n=node.dataset.node;node.tabIndex=0;
node.addEventListener('mouseenter',()=>show(n));node.addEventListener('focus',()=>show(n));
node.addEventListener('mouseleave',()=>show(kept));node.addEventListener('blur',()=>show(kept));
const keep=()=>{kept=kept===n?null:n;show(kept)};node.addEventListener('click',keep);
node.addEventListener('keydown',e=>{if(e.key==='Enter'){keep()}})}}
document.getElementById('find').addEventListener('input',e=>{
const said=e.target.value.toLowerCase();for(const section of document.querySelectorAll('section')){
section.hidden=!section.textContent.toLowerCase().includes(said)}});
